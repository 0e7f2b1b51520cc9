"""What stands in a transcript: text that lays itself out in rows. Entries are no widgets: a thousand cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from specchat.terminal.pieces import Piece
from specchat.terminal.wrapping import Line, Wrapper


class Anchor(NamedTuple):
    """A place in an entry that survives another width: a section, and a place in its text."""

    section: int = 0
    place: int = 0


class Host(Protocol):
    """What an entry asks of the transcript that it stands in."""

    def entry_changed(self, entry: Entry, first_row: int) -> None:
        """The rows of an entry have changed from this one on."""

    def remove_entry(self, entry: Entry) -> None:
        """Takes an entry out."""

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Calls back on the app's thread, unless the transcript is gone by then."""


class Entry:
    """One entry. Rows exist for one width at a time, and only while somebody looks."""

    can_be_selected = False
    edge = ""
    """The style of the bar at the left edge; empty for none."""

    def __init__(self) -> None:
        self.host: Host | None = None
        self._width = 0
        self._rows: list[Line] | None = None

    @property
    def raw(self) -> str:
        """The text as it was written, to be copied."""
        return ""

    @property
    def codes(self) -> Sequence[str]:
        """The blocks of code, to be copied."""
        return ()

    def rows(self, width: int) -> list[Line]:
        """The rows at this width, without the blank one that stands above every entry."""
        if width != self._width:
            self._width = width
            self.lay(width)
            self._rows = None
        if self._rows is None:
            self._rows = [line for section in self.sections() for line in section]
        return self._rows

    def suffix(self, row: int) -> Sequence[Piece]:
        """What is drawn behind a row and is no part of it."""
        return ()

    def mark(self, row: int) -> tuple[int, int] | None:
        """The characters of a row that are the marked token."""
        return None

    def forget(self) -> None:
        """Drops the rows; they are laid out again when somebody looks."""
        self._width = 0
        self._rows = None

    def lay(self, width: int) -> None:
        """Lays the entry out for a width."""

    def sections(self) -> Sequence[list[Line]]:
        """The rows in sections whose number does not depend on the width."""
        return ()

    def guess(self, width: int) -> int:
        """About how many rows it takes, without laying it out."""
        return len(self.raw) // max(width, 1) + self.raw.count("\n") + 1

    def anchor(self, row: int) -> Anchor:
        """The place at the beginning of a row."""
        for number, section in enumerate(self.sections()):
            if row < len(section):
                return Anchor(number, section[row].start)
            row -= len(section)
        return Anchor()

    def row_of(self, anchor: Anchor) -> int:
        """The row where a place is now."""
        row = 0
        for number, section in enumerate(self.sections()):
            if number == anchor.section:
                inside = [at for at, line in enumerate(section) if line.start <= anchor.place]
                return row + (inside[-1] if inside else 0)
            row += len(section)
        return max(0, row - 1)

    async def remove(self) -> None:
        """Leaves the transcript."""
        if self.host is not None:
            self.host.remove_entry(self)

    def changed(self, first_row: int = 0) -> None:
        """Tells the transcript."""
        self._rows = None
        if self.host is not None:
            self.host.entry_changed(self, first_row)


class TextEntry(Entry):
    """A text that stays as it is."""

    def __init__(self, pieces: Sequence[Piece], *, ground: str = "") -> None:
        super().__init__()
        self._pieces = pieces
        self._ground = ground
        self._lines: list[Line] = []

    @property
    def text(self) -> str:
        """The text as it is shown."""
        return "".join(piece.text for piece in self._pieces)

    def lay(self, width: int) -> None:
        """Wraps the text."""
        wrapper = Wrapper(width)
        wrapper.write(self._pieces)
        for line in wrapper.lines:
            line.ground = self._ground
        wrapper.lines[-1].ending = "\n"
        self._lines = wrapper.lines

    def sections(self) -> Sequence[list[Line]]:
        """One section."""
        return (self._lines,)
