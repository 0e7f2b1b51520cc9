"""The entries of a conversation. They are not widgets, so a conversation of thousands of messages stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from specchat.store.images import StoredImage
from specchat.terminal.pieces import Clickable, Piece, shown
from specchat.terminal.word_wrap import Line, Wrapper
from specchat.tui.appearance import legend_pieces
from specchat.tui.transcript.thumbnail import thumbnail_pieces


class Anchor(NamedTuple):
    """A place in an entry that is the same at any width: a section, and a character of its text."""

    section: int = 0
    place: int = 0


class Host(Protocol):
    """What an entry needs from the view that shows it."""

    @property
    def shows_formulas(self) -> bool:
        """Whether Markdown shows formulas in Unicode."""

    def entry_changed(self, entry: TranscriptEntry, first_row: int) -> None:
        """Draw the rows of an entry from this one on again."""

    def remove_entry(self, entry: TranscriptEntry) -> None:
        """Remove an entry."""


class TranscriptEntry:
    """One entry. It keeps its rows for one width."""

    can_be_selected = False
    edge = ""
    """The style of the bar at the left edge; empty for none."""

    def __init__(self) -> None:
        self.host: Host | None = None
        self._width = 0
        self._rows: list[Line] | None = None

    @property
    def raw(self) -> str:
        """The text as it was written, for the clipboard."""
        return ""

    @property
    def codes(self) -> Sequence[str]:
        """The code blocks, for the clipboard."""
        return ()

    def rows(self, width: int) -> list[Line]:
        """The rows at this width, without the blank row above the entry."""
        if width != self._width:
            self._width = width
            self.lay(width)
            self._rows = None
        if self._rows is None:
            self._rows = [line for section in self.sections() for line in section]
        return self._rows

    def suffix(self, row: int) -> Sequence[Piece]:
        """What is drawn after the text of a row without being part of it."""
        return ()

    def mark(self, row: int) -> tuple[int, int] | None:
        """The characters of a row that belong to the marked token."""
        return None

    def forget(self) -> None:
        """Drop the rows. They are laid out again when they are needed."""
        self._width = 0
        self._rows = None

    def lay(self, width: int) -> None:
        """Lay the entry out for a width."""

    def sections(self) -> Sequence[list[Line]]:
        """The rows in sections. The number of sections does not depend on the width."""
        return ()

    def guess(self, width: int) -> int:
        """The estimated number of rows, without laying the entry out."""
        return len(self.raw) // max(width, 1) + self.raw.count("\n") + 1

    def anchor(self, row: int) -> Anchor:
        """The place where a row begins."""
        for number, section in enumerate(self.sections()):
            if row < len(section):
                return Anchor(number, section[row].start)
            row -= len(section)
        return Anchor()

    def row_of(self, anchor: Anchor) -> int:
        """The row that shows a place."""
        row = 0
        for number, section in enumerate(self.sections()):
            if number == anchor.section:
                inside = [at for at, line in enumerate(section) if line.start <= anchor.place]
                return row + (inside[-1] if inside else 0)
            row += len(section)
        return max(0, row - 1)

    def remove(self) -> None:
        """Remove the entry from its view."""
        if self.host is not None:
            self.host.remove_entry(self)

    def changed(self, first_row: int = 0) -> None:
        """Draw the rows from `first_row` on again."""
        self._rows = None
        if self.host is not None:
            self.host.entry_changed(self, first_row)


class TextEntry(TranscriptEntry):
    """An entry whose text never changes."""

    def __init__(self, pieces: Sequence[Piece], *, ground: str = "") -> None:
        super().__init__()
        self._pieces = pieces
        self._ground = ground
        self._lines: list[Line] = []

    @property
    def text(self) -> str:
        """The text as the screen shows it."""
        return "".join(piece.text for piece in self._pieces)

    def lay(self, width: int) -> None:
        """Wrap the text."""
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
    """Version `number` of `count` versions of a message, counted from 1."""

    number: int = 1
    count: int = 1

    @property
    def several(self) -> bool:
        """Whether there is more than one version."""
        return self.count > 1

    def pieces(self) -> tuple[Piece, ...]:
        """`‹2/3›` with clickable ends; empty if there is one version only."""
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
    """A message of the user. The screen knows it by its `key`."""

    can_be_selected = True
    edge = "$primary"

    def __init__(
        self,
        text: str,
        *,
        key: object = None,
        siblings: Siblings = NO_SIBLINGS,
        images: Sequence[StoredImage] = (),
    ) -> None:
        above = [*siblings.pieces(), Piece("\n", "")] if siblings.several else []
        super().__init__([*above, Piece(shown(text), "")], ground=_GROUND)
        self.key = key
        self.siblings = siblings
        self.images = tuple(images)
        self._raw = text
        self._unread: Sequence[StoredImage] = self.images

    def lay(self, width: int) -> None:
        """Wrap the text, with the thumbnails, which are read when they are shown for the first time."""
        unread, self._unread = self._unread, ()
        self._pieces = [*self._pieces, *(piece for image in unread for piece in thumbnail_pieces(image))]
        super().lay(width)

    @property
    def raw(self) -> str:
        """The message as the user wrote it."""
        return self._raw


class TranscriptNotice(TextEntry):
    """A line from the app between the messages. A failure stands out."""

    def __init__(self, text: str, *, failure: bool = False) -> None:
        style = "$text-warning" if failure else "$quiet"
        super().__init__([Piece(("✕ " if failure else "· ") + shown(text), style)])

    @property
    def raw(self) -> str:
        """The text of the notice."""
        return self.text


_TO_TRY = (
    ("/tour", "two minutes of what there is to see"),
    ("F2", "turn k, drafter, temperature while it answers"),
    ("F8", "other models, and what fits this machine"),
)
_COLUMN = max(len(what) for what, _ in _TO_TRY) + 3


class Welcome(TextEntry):
    """What an empty conversation shows: what to try, and how to read the answers."""

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
