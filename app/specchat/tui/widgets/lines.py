"""Rows of styled text that change one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

_BLANK = Content()


class Lines(Widget):
    """Shows one `Content` a row, each of which fits the width. Only rows that changed are drawn again."""

    DEFAULT_CSS = """
    Lines {
        height: auto;
    }
    """
    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._lines: Sequence[Content] = ()

    def show_lines(self, lines: Sequence[Content]) -> None:
        """Show other rows."""
        before, self._lines = self._lines, lines
        rows = zip_longest(before, lines, fillvalue=_BLANK)
        changed = [y for y, (old, new) in enumerate(rows) if not old.is_same(new)]
        regions = [Region(0, y, self.size.width, 1) for y in changed if y < self.size.height]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """One row. Rendering only the rows that changed halves what the figures cost."""
        if y >= len(self._lines):
            return Strip.blank(self.size.width, self.visual_style.rich_style)
        return Visual.to_strips(self, self._lines[y], self.size.width, 1, self.visual_style)[0]

    def render(self) -> Content:
        """All rows, from which the height follows."""
        return Content("\n").join(self._lines)
