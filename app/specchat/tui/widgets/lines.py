"""Rows of styled text that change while others stay: only what says something new is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from specchat.tui.straight import Straight, filtered


class Lines(Widget):
    """Draws rows as they are given, each of which fits the width; rows that are the same object are the same."""

    DEFAULT_CSS = """
    Lines {
        height: auto;
    }
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: Sequence[Content] = ()
        self._strips: dict[int, Strip] = {}
        self._straight = Straight(self)

    def show_lines(self, lines: Sequence[Content]) -> None:
        """Draws other rows."""
        before, self._lines = self._lines, lines
        size = self.size
        stale = [y for y, (old, new) in enumerate(zip_longest(before, lines)) if old is not new]
        for y in stale:
            self._strips.pop(y, None)
        self._show_again([y for y in stale if y < size.height], size.width)

    def render(self) -> Content:
        """All rows."""
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        """One row, from the cache unless it changed."""
        width = self.size.width
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != width:
            strip = self._strips[y] = self._made(y, width)
        return strip

    def notify_style_update(self) -> None:
        """Draws all rows in the new theme's colours."""
        super().notify_style_update()
        self._strips.clear()

    def _show_again(self, stale: Sequence[int], width: int) -> None:
        """Draws rows again, and lets Textual forget what it keeps of them."""
        if not stale or not width:
            return
        region = Region(0, stale[0], width, stale[-1] + 1 - stale[0]).translate(self.content_offset)
        if self._straight.is_open(region):
            self._styles_cache.set_dirty(*(Region(0, region.y + y - stale[0], 1, 1) for y in stale))
            self._straight.draw(region.offset, [(y - stale[0], filtered(self, self.render_line(y))) for y in stale])
        else:
            self.refresh(*(Region(0, y, width, 1) for y in stale))

    def _made(self, y: int, width: int) -> Strip:
        style = self.visual_style
        if y >= len(self._lines):
            return Strip.blank(width, style.rich_style)
        runs = self._lines[y].render(style, "", self._get_style)
        strip = Strip([Segment(text, look.rich_style) for text, look in runs])
        return strip.adjust_cell_length(width, style.rich_style)
