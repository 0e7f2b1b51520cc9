"""One widget that draws the rows in sight of any number of entries.

It follows its end only while the user is there, and keeps the reader's place when the width changes, or when entries
above turn out higher than was guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil

from textual.events import Resize
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip

from specchat.terminal.pieces import Piece
from specchat.terminal.wrapping import Line
from specchat.tui.stack import GAP, Stack
from specchat.tui.widgets.entry import Anchor, Entry
from specchat.tui.widgets.rows_view import RowsView

_LEFT = 2
_RIGHT = 1
_BOTTOM = 1
_WIDEST = 118
_SELECTED_EDGE = Piece("█", "$accent")


class EntriesView(RowsView):
    """Rows of entries."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.selected: Entry | None = None
        self._stack = Stack()
        self._following = True
        self._unseen = 0
        self._settling = False
        self._read_at: tuple[int, int, Anchor | None] = (0, 0, None)

    @property
    def entries(self) -> list[Entry]:
        """All entries, from top to bottom."""
        return self._stack.entries

    @property
    def following(self) -> bool:
        """Whether what comes scrolls on to it."""
        return self._following

    @property
    def unseen(self) -> int:
        """Rows that have come at the end since the user left it."""
        return self._unseen

    def entry_changed(self, entry: Entry, first_row: int) -> None:
        """The rows of an entry have changed from this one on."""
        if entry.host is not self or not self._stack.width:
            return
        with self._all_at_once():
            self._take_change(entry, first_row)

    def _take_change(self, entry: Entry, first_row: int) -> None:
        index = len(self.entries) - 1 if self.entries[-1] is entry else self.entries.index(entry)
        top = self._stack.top(index)
        difference = self._stack.measure(index)
        last = index == len(self.entries) - 1
        self._dirty_from(top + GAP + first_row, everything=difference != 0 and not (last and self._following))
        if difference and not last and top < self._row:
            self._settle(self._row + difference)
        elif difference:
            self._unseen += max(0, difference) if last else 0
            self._settle()

    def remove_entry(self, entry: Entry) -> None:
        """Takes an entry out."""
        if entry.host is self:
            entry.host = None
            self._stack.remove(self.entries.index(entry))
            self._strips.clear()
            self._settle()
            self.refresh()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Calls back unless the view is gone by then."""
        self.set_timer(seconds, call)

    def follow(self) -> None:
        """Goes to the end and stays there."""
        self._following = True
        self._settle()

    def show_row(self, index: int, row: int | None = None) -> None:
        """Scrolls as little as needed for an entry, or one of its rows, to be seen."""
        self._stack.measure(index)
        top = self._stack.top(index) + (0 if row is None else GAP + row)
        bottom = self._stack.top(index + 1) if row is None else top + 1
        room = max(1, self.size.height - 1)
        above = top < self._row or bottom - top > room
        self._following = False
        self._settle(top if above else max(self._row, bottom - room))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Whoever reaches the end follows it, whoever leaves it does not."""
        if not self._settling:
            self._following = round(new_value) >= self.max_scroll_y
        if round(old_value) != round(new_value):
            self._redraw(0)
        if not self._settling:
            self._settle()
            self._draw_bar()

    def on_resize(self, event: Resize) -> None:
        """Lays out anew around the row at the top, which stays there."""
        width = min(self.scrollable_content_region.width - _LEFT - _RIGHT, _WIDEST)
        if width <= 0:
            return
        if width == self._stack.width or not self.entries:
            self._stack.width = width
            self._settle()
            return
        index, inside, anchor = self._reading()
        self._stack.resize(width)
        self._strips.clear()
        self.screen.clear_selection()
        self._stack.measure(index)
        row = GAP + self.entries[index].row_of(anchor) if anchor is not None else max(0, inside + GAP)
        self._settle(self._stack.top(index) + row)
        self._read_at = (self._row, index, anchor)
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, with line ends only where the text has them."""
        last = self._stack.height - 1
        end = last if selection.end is None else min(selection.end.y, last)
        found = []
        for row in range(0 if selection.start is None else max(0, selection.start.y), end + 1):
            line, span = self._line(row)[1], selection.get_span(row)
            if span is not None:
                begin, stop = span
                found.append(line.text[begin:] + line.ending if stop == -1 else line.text[begin:stop])
        return "".join(found), "\n"

    def _reading(self) -> tuple[int, int, Anchor | None]:
        """The entry at the top, the row in it, and the place in its text: the last one's while nobody has scrolled."""
        row, index, anchor = self._read_at
        if anchor is None or row != self._row or index >= len(self.entries):
            index, anchor = self._stack.at(self._row), None
        inside = self._row - self._stack.top(index) - GAP
        if anchor is None and self._stack.knows(index) and inside >= 0:
            anchor = self.entries[index].anchor(inside)
        return index, inside, anchor

    @property
    def _height(self) -> int:
        return self._stack.height

    def _line(self, row: int) -> tuple[Entry | None, Line, int]:
        """The entry at a row, its line there, and the line's number; an empty line above and below entries."""
        if 0 <= row < self._stack.height:
            index = self._stack.at(row)
            entry, inside = self.entries[index], row - self._stack.top(index) - GAP
            rows = entry.rows(self._stack.width) if inside >= 0 else []
            if inside < len(rows):
                return entry, rows[inside] if rows else Line(ending="\n"), inside
        return None, Line(ending="\n"), 0

    def _drawn(self, row: int) -> Strip:
        entry, line, inside = self._line(row)
        if entry is None or inside < 0:
            return self._painter.blank(self.size.width)
        edge = _SELECTED_EDGE if entry is self.selected else Piece("▌" if entry.edge else " ", entry.edge)
        line = replace(line, prefix=(edge, Piece(" ", line.ground), *line.prefix))
        selection = self.text_selection
        strip = self._painter.strip(
            line,
            min(self.size.width, _LEFT + self._stack.width + _RIGHT),
            row,
            suffix=entry.suffix(inside),
            selected=selection.get_span(row) if selection is not None else None,
            marked=entry.mark(inside),
        )
        return Strip.join([strip, self._painter.blank(self.size.width - strip.cell_length)])

    def _settle(self, row: int | None = None) -> None:
        """Learns the heights around what is seen, with the row at the top, or the end, kept where it is."""
        if not self._stack.width or not self.size.height:
            return
        row = self._row if row is None else row
        page = self.size.height
        for _ in range(len(self.entries)):
            if self._following:
                row = max(0, ceil(self._stack.height + _BOTTOM - page))
            seen = self._stack.unknown(self._stack.at(max(0, row - page)), self._stack.at(row + page))
            if not seen:
                break
            top = self._stack.top(seen[-1])
            difference = self._stack.measure(seen[-1])
            self._strips.clear()
            row += difference if top < row else 0
        self._go(row)

    def _go(self, row: int) -> None:
        self._settling = True
        # Not by assignment: that would lay out the whole screen, which does not change.
        size = Size(self.scrollable_content_region.width, self._stack.height + _BOTTOM)
        self.set_reactive(EntriesView.virtual_size, size)
        self.scroll_to(y=row, animate=False)
        self._settling = False
        self._following = self._following or self._row >= self.max_scroll_y
        if self._following:
            self._unseen = 0
        self._show_covered()
        self._show_bar()
