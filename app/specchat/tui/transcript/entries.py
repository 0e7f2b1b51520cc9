"""What stands in a transcript: text that lays itself out in rows. Entries are no widgets: a thousand cost nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from specchat.terminal.pieces import Clickable, Piece, shown
from specchat.terminal.wrapping import Line, Wrapper
from specchat.tui.legend import legend_pieces


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


PREVIOUS = "previous_sibling"
NEXT = "next_sibling"
_STYLE = "$text-accent"


@dataclass(frozen=True, slots=True)
class Siblings:
    """The `number`th, counted from 1, of `count` versions."""

    number: int = 1
    count: int = 1

    @property
    def several(self) -> bool:
        """Whether there is anything to choose from."""
        return self.count > 1

    def pieces(self) -> tuple[Piece, ...]:
        """`‹2/3›`, whose ends can be clicked, or nothing where there is one version only."""
        if not self.several:
            return ()
        return (
            Piece("‹", Clickable(_STYLE, PREVIOUS)),
            Piece(f"{self.number}/{self.count}", _STYLE),
            Piece("›", Clickable(_STYLE, NEXT)),
        )


NO_SIBLINGS = Siblings()


_GROUND = "on $surface"


class UserMessage(TextEntry):
    """A message of the user; `key` is what the screen knows it by."""

    can_be_selected = True
    edge = "$primary"

    def __init__(self, text: str, *, key: object = None, siblings: Siblings = NO_SIBLINGS) -> None:
        super().__init__(
            [*siblings.pieces(), *([Piece("\n", "")] if siblings.several else []), Piece(shown(text), "")],
            ground=_GROUND,
        )
        self.key = key
        self.siblings = siblings
        self._raw = text

    @property
    def raw(self) -> str:
        """What the user wrote."""
        return self._raw


class TranscriptNotice(TextEntry):
    """A notice in the transcript; one that reports a failure stands out."""

    def __init__(self, text: str, *, failure: bool = False) -> None:
        style = "$text-warning" if failure else "$quiet"
        super().__init__([Piece(("✕ " if failure else "· ") + shown(text), style)])
        self.failure = failure

    @property
    def raw(self) -> str:
        """The notice."""
        return self.text


_TO_TRY = (
    ("/tour", "two minutes of what there is to see"),
    ("F2", "turn k, drafter, temperature while it answers"),
    ("F8", "other models, and what fits this machine"),
)
_COLUMN = max(len(what) for what, _ in _TO_TRY) + 3


class Welcome(TextEntry):
    """A few lines that teach the language of the screen; gone with the first message."""

    def __init__(self) -> None:
        super().__init__(
            [
                Piece("Ask something, or try", "bold"),
                *(
                    piece
                    for what, why in _TO_TRY
                    for piece in (Piece(f"\n  {what.ljust(_COLUMN)}", "bold $text-secondary"), Piece(why, "$quiet"))
                ),
                Piece("\n\nA small model drafts ahead, the target checks its guesses in one pass.", ""),
                Piece("\nThe text is the target's own, unless ≈ says lossy. You will see:\n", ""),
                *legend_pieces(),
            ]
        )
