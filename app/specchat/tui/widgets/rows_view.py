"""Rows of a long text in a view that scrolls: drawn as they are needed, kept, and brought to the terminal cheaply."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from specchat.tui.pace import Pace
from specchat.tui.painting import Painter
from specchat.tui.straight import Straight, filtered

_STRIPS_KEPT = 600
_BAR_PAUSE = 1.0
"""Drawing the scroll bar costs more than all rows: while text streams it is drawn once a second."""


class RowsView(ScrollView):
    """Whoever derives from it says how high the text is, and draws each of its rows."""

    DEFAULT_CSS = """
    RowsView {
        overflow-x: hidden;
        overflow-y: scroll;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._painter = Painter(self)
        self._strips: dict[int, Strip] = {}
        self._straight = Straight(self)
        self._stale: int | None = None
        self._bottom = 0
        self._waiting = False
        self._was_covered: int | None = None
        self._bar = Pace(self, _BAR_PAUSE, self._draw_bar)

    def notify_style_update(self) -> None:
        """Draws all rows in the new theme's colours."""
        super().notify_style_update()
        self._painter.forget()
        self._strips.clear()

    def selection_updated(self, selection: Selection | None) -> None:
        """Draws the selection."""
        self._strips.clear()
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows in sight, from the cache unless they changed; the view has no border and no padding."""
        kept, top, covered = self._strips, self._row, self._covered
        found = [(y, None if y == covered else kept.get(top + y)) for y in crop.line_range]
        strips = [self.render_line(y) if strip is None else strip for y, strip in found]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One row of the viewport."""
        row = self._row + y
        if row not in self._strips:
            if len(self._strips) > _STRIPS_KEPT:
                self._strips.clear()
            self._strips[row] = filtered(self, self._drawn(row))
        return self._strips[row]

    @property
    def _height(self) -> int:
        """Rows of the whole text."""
        raise NotImplementedError

    @property
    def _row(self) -> int:
        return self.scroll_offset.y

    @property
    def _covered(self) -> int | None:
        """The row of the viewport that shows something else."""
        return None

    def _drawn(self, row: int) -> Strip:
        """A row of the text, or an empty one below it."""
        raise NotImplementedError

    @contextmanager
    def _all_at_once(self) -> Iterator[None]:
        """What is to be drawn waits for the end."""
        self._waiting = True
        try:
            yield
        finally:
            self._waiting = False
        self._draw_stale()

    def _dirty_from(self, row: int, *, everything: bool) -> None:
        """Rows from this one on, and where the layout moved what is above, all that is seen, are drawn again."""
        for drawn in [drawn for drawn in self._strips if drawn >= row]:
            del self._strips[drawn]
        first = 0 if everything else max(0, row - self._row)
        self._redraw(first)

    def _redraw(self, first: int) -> None:
        """Draws the rows in sight from this one on."""
        self._stale = first if self._stale is None else min(first, self._stale)
        if not self._waiting:
            self._draw_stale()

    def _draw_stale(self) -> None:
        """Draws what waits for it; below the last row nothing changes as long as nothing is scrolled."""
        first, self._stale = self._stale, None
        size = self.scrollable_content_region.size
        if first is None or first >= size.height:
            return
        bottom, self._bottom = max(self._bottom, self._height), self._height
        last = size.height if first == 0 or self._covered is not None else min(size.height, bottom - self._row)
        rows = Region(0, first, size.width, max(last - first, 1))
        if self._straight.is_open(rows):
            self._straight.draw(rows.offset, [*enumerate(self.render_lines(rows))])
        else:
            self.refresh(rows)

    def _show_covered(self) -> None:
        """Draws the row that shows something else, or does so no more."""
        if self._covered != self._was_covered:
            self._was_covered = self._covered
            self._redraw(self.size.height - 1)

    def _show_bar(self) -> None:
        """Tells the scroll bar what it shows, at once or, where the text grows, in a while."""
        if self._waiting:
            self._bar.request()
        else:
            self._draw_bar()

    def _draw_bar(self) -> None:
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            # Where all can be seen the bar looks the same, however much that is.
            height = self.size.height
            bar.window_virtual_size, bar.window_size = max(self.virtual_size.height, height), height
            bar.position = self.scroll_y
