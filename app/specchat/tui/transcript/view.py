"""A scrolling view of entries. It draws only the rows in sight.

The view follows its end while the user is there. When the width changes, or when an entry above turns out higher than
estimated, the row at the top stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.events import Resize
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from specchat.terminal.pieces import Clickable, Piece
from specchat.terminal.word_wrap import Line
from specchat.tui.transcript.entries import Anchor, TranscriptEntry
from specchat.tui.transcript.painter import Painter
from specchat.tui.transcript.stack import GAP, Stack

JUMP_TO_END = "jump_to_end"
"""What a click on the last row does while the end is out of sight."""

RAW_FORMULAS = "-raw-formulas"
"""The class of an app that shows formulas as they are written."""

_LEFT = 2
_RIGHT = 1
_BOTTOM = 1
_WIDEST = 118
_STRIPS_KEPT = 600
_SELECTED_EDGE = Piece("█", "$accent")
_EDITED_EDGE = Piece("»", "bold $text-warning")


class EntriesView(ScrollView):
    """Entries from top to bottom, with one of them marked as `selected`."""

    DEFAULT_CSS = """
    EntriesView {
        overflow-x: hidden;
        overflow-y: scroll;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.selected: TranscriptEntry | None = None
        self.edited: TranscriptEntry | None = None
        """The entry whose message is being changed in the prompt."""
        self._stack = Stack()
        self._painter = Painter(self)
        self._strips: dict[int, Strip] = {}
        self.following = True
        """Whether the view scrolls when rows are added at the end."""
        self.unseen = 0
        """The number of rows that were added at the end since the user scrolled up."""
        self._settling = False
        self._bottom = 0
        self._read_at: tuple[int, int, Anchor | None] = (0, 0, None)

    @property
    def entries(self) -> list[TranscriptEntry]:
        """All entries, from top to bottom."""
        return self._stack.entries

    @property
    def shows_formulas(self) -> bool:
        """Whether Markdown shows formulas in Unicode; a class of the app says if not."""
        return not self.app.has_class(RAW_FORMULAS)

    def lay_again(self) -> None:
        """Lay all entries out again, as formulas are shown in another way now."""
        if self._stack.width and self.entries:
            self._lay(self._stack.width)

    def show_entries(self, entries: Sequence[TranscriptEntry]) -> None:
        """Replace all entries and go to the end."""
        for entry in self.entries:
            entry.host = None
        for entry in entries:
            entry.host = self
        self._stack.clear()
        self._stack.add(entries)
        self._strips.clear()
        self.unseen = 0
        self._read_at = (0, 0, None)
        self.follow()
        self.refresh()

    def add_entry(self, entry: TranscriptEntry, *, follow: bool = False) -> None:
        """Add an entry at the end. With `follow`, go there even if the user had scrolled up."""
        before, unseen = self._stack.height, self.unseen
        entry.host = self
        self._stack.add([entry])
        self.following |= follow
        entry.changed()
        self.unseen = unseen + self._stack.height - before
        self._settle()
        self.refresh()

    def remove_entry(self, entry: TranscriptEntry) -> None:
        """Remove an entry."""
        if entry.host is self:
            entry.host = None
            self._stack.remove(self.entries.index(entry))
            self._strips.clear()
            self._settle()
            self.refresh()

    def entry_changed(self, entry: TranscriptEntry, first_row: int) -> None:
        """Draw an entry again whose rows changed from `first_row` on."""
        if entry.host is not self or not self._stack.width:
            return
        index = len(self.entries) - 1 if self.entries[-1] is entry else self.entries.index(entry)
        top = self._stack.top(index)
        difference = self._stack.measure(index)
        last = index == len(self.entries) - 1
        self._refresh_from(top + GAP + first_row, everything=difference != 0 and not (last and self.following))
        if difference and not last and top < self._row:
            self._settle(self._row + difference)
        elif difference:
            self.unseen += max(0, difference) if last else 0
            self._settle()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.following = True
        self._settle()

    def show_row(self, index: int, row: int | None = None) -> None:
        """Scroll as little as possible until an entry, or one of its rows, is in sight."""
        self._stack.measure(index)
        top = self._stack.top(index) + (0 if row is None else GAP + row)
        bottom = self._stack.top(index + 1) if row is None else top + 1
        room = max(1, self.size.height - 1)
        above = top < self._row or bottom - top > room
        self.following = False
        self._settle(top if above else max(self._row, bottom - room))

    def redraw(self) -> None:
        """Draw all rows in sight again."""
        self._strips.clear()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end when the user reaches it, and stop when the user leaves it."""
        super().watch_scroll_y(old_value, new_value)
        if not self._settling:
            self.following = round(new_value) >= self.max_scroll_y
            self._settle()

    def on_resize(self, event: Resize) -> None:
        """Wrap all rows for the new width and keep the row at the top in place."""
        width = min(self.scrollable_content_region.width - _LEFT - _RIGHT, _WIDEST)
        if width <= 0:
            return
        if width == self._stack.width or not self.entries:
            self._stack.width = width
            self._settle()
            return
        self._lay(width)

    def _lay(self, width: int) -> None:
        """Lays all rows out in this width and keeps the row at the top in place."""
        index, inside, anchor = self._reading()
        self._stack.resize(width)
        self.screen.clear_selection()
        self._stack.measure(index)
        row = GAP + self.entries[index].row_of(anchor) if anchor is not None else max(0, inside + GAP)
        self._settle(self._stack.top(index) + row)
        self._read_at = (self._row, index, anchor)
        self.redraw()

    def notify_style_update(self) -> None:
        """Draw all rows in the colours of the new theme."""
        super().notify_style_update()
        self._painter.forget()
        self._strips.clear()

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the text that is selected with the mouse."""
        self.redraw()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that is selected with the mouse, without the line breaks of word wrap."""
        last = self._stack.height - 1
        end = last if selection.end is None else min(selection.end.y, last)
        selected = []
        for row in range(0 if selection.start is None else max(0, selection.start.y), end + 1):
            line, span = self._line(row)[1], selection.get_span(row)
            if span is not None:
                begin, stop = span
                selected.append(line.text[begin:] + line.ending if stop == -1 else line.text[begin:stop])
        return "".join(selected), "\n"

    def entry_at(self, y: int) -> TranscriptEntry | None:
        """The entry at a row of the viewport; None between entries."""
        return self._line(self._row + y)[0]

    def render_line(self, y: int) -> Strip:
        """A row of the viewport. While the end is out of sight, the last row says how to get there."""
        if not self.following and y == self.size.height - 1:
            return self._painter.strip(self._hint(), self.size.width, -1)
        row = self._row + y
        if row not in self._strips:
            if len(self._strips) > _STRIPS_KEPT:
                self._strips.clear()
            self._strips[row] = self._drawn(row)
        return self._strips[row]

    @property
    def _row(self) -> int:
        """The row of the text that is at the top of the viewport."""
        return self.scroll_offset.y

    def _hint(self) -> Line:
        """`↓ jump to end (End) · 12 new lines`. The key is Ctrl+End while the prompt has the focus."""
        key = "End" if self.has_focus else "Ctrl+End"
        lines = "line" if self.unseen == 1 else "lines"
        new = f" · {self.unseen:,} new {lines}" if self.unseen else ""
        text = Piece(f"↓ jump to end ({key}){new}", Clickable("bold $text-primary on $panel", JUMP_TO_END))
        return Line([text], prefix=(Piece("  ", "on $panel"),), ground="on $panel")

    def _line(self, row: int) -> tuple[TranscriptEntry | None, Line, int]:
        """The entry at a row, its line there, and the line's number in the entry. Blank rows have no entry."""
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
        edge = _EDITED_EDGE if entry is self.edited else edge
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

    def _reading(self) -> tuple[int, int, Anchor | None]:
        """The entry at the top, the row in it, and the place in its text.

        The place is kept from the last resize until the user scrolls, so that resizing twice returns to the same row.
        """
        row, index, anchor = self._read_at
        if anchor is None or row != self._row or index >= len(self.entries):
            index, anchor = self._stack.at(self._row), None
        inside = self._row - self._stack.top(index) - GAP
        if anchor is None and self._stack.knows(index) and inside >= 0:
            anchor = self.entries[index].anchor(inside)
        return index, inside, anchor

    def _refresh_from(self, row: int, *, everything: bool) -> None:
        """Draw the rows of the text from `row` on again, or all rows in sight where those above moved."""
        for drawn in [drawn for drawn in self._strips if drawn >= row]:
            del self._strips[drawn]
        size = self.scrollable_content_region.size
        first = 0 if everything else max(0, row - self._row)
        bottom, self._bottom = max(self._bottom, self._stack.height), self._stack.height
        last = size.height if first == 0 or not self.following else min(size.height, bottom - self._row)
        if first < size.height:
            self.refresh(Region(0, first, size.width, max(last - first, 1)))

    def _settle(self, row: int | None = None) -> None:
        """Lay out the entries around the viewport, then scroll to `row`, or to the end while the view follows it."""
        if not self._stack.width or not self.size.height:
            return
        row = self._row if row is None else row
        page = self.size.height
        for _ in range(len(self.entries)):
            if self.following:
                row = max(0, self._stack.height + _BOTTOM - page)
            unknown = self._stack.unknown(self._stack.at(max(0, row - page)), self._stack.at(row + page))
            if not unknown:
                break
            top = self._stack.top(unknown[-1])
            difference = self._stack.measure(unknown[-1])
            self._strips.clear()
            row += difference if top < row else 0
        self._go(row)

    def _go(self, row: int) -> None:
        before = self.following
        self._settling = True
        # Setting the attribute instead would lay out the whole screen, which does not change.
        size = Size(self.scrollable_content_region.width, self._stack.height + _BOTTOM)
        self.set_reactive(EntriesView.virtual_size, size)
        if self.show_vertical_scrollbar:
            bar = self.vertical_scrollbar
            bar.window_virtual_size, bar.window_size = max(size.height, self.size.height), self.size.height
        self.scroll_to(y=row, animate=False)
        self._settling = False
        self.following = self.following or self._row >= self.max_scroll_y
        if self.following:
            self.unseen = 0
        if self.following != before or not self.following:
            self.refresh(Region(0, self.size.height - 1, self.size.width, 1))
