"""Word wrap that only ever looks at the last line, so that appending to a long answer costs what is appended."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import cell_len, get_character_cell_size

from specchat.tui.pieces import Piece

_CHUNKS = re.compile(r"\n| +|[^ \n]+")


@dataclass(slots=True)
class Line:
    """One row of the screen. `ending` is what stood where the row was broken: a line end, a space, or nothing."""

    pieces: list[Piece] = field(default_factory=list)
    ending: str = ""

    @property
    def text(self) -> str:
        """The row's text without its ending."""
        return "".join(piece.text for piece in self.pieces)


class Wrapper:
    """Breaks pieces into rows of at most `width` cells; every row but the last is final."""

    __slots__ = ("_hanging", "_used", "_word_at", "lines", "width")

    def __init__(self, width: int) -> None:
        self.width = max(width, 1)
        self.lines: list[Line] = [Line()]
        self._used = 0
        self._hanging = ""
        self._word_at: int | None = None

    def write(self, pieces: Iterable[Piece]) -> int:
        """Appends pieces; returns the index of the first row that changed."""
        first = len(self.lines) - 1
        for piece in pieces:
            for chunk in _CHUNKS.findall(piece.text):
                if chunk == "\n":
                    self._break("\n")
                elif chunk[0] == " ":
                    self._space(piece, chunk)
                else:
                    self._word(piece, chunk)
        return first

    def _append(self, piece: Piece, text: str) -> None:
        row = self.lines[-1].pieces
        if row and row[-1].ink is piece.ink:
            row[-1] = Piece(row[-1].text + text, piece.ink)
        else:
            row.append(Piece(text, piece.ink))
        self._used += cell_len(text)

    def _break(self, ending: str) -> None:
        self.lines[-1].ending = ending
        self.lines.append(Line())
        self._used = 0
        self._word_at = None

    def _space(self, piece: Piece, spaces: str) -> None:
        """Spaces that do not fit hang over the edge, unseen; the next word starts a new row."""
        self._word_at = None
        room = self.width - self._used
        self._hanging = "" if len(spaces) <= room else " "
        self._append(piece, spaces[:room])

    def _word(self, piece: Piece, word: str) -> None:
        if self._word_at is None:
            if self._used >= self.width:
                self._break(self._hanging)
            self._word_at = self._used
        if self._used + cell_len(word) > self.width and self._word_at > 0:
            self._carry_word()
        for part in self._folded(word):
            if part is None:
                self._break("")
                self._word_at = 0
            else:
                self._append(piece, part)

    def _carry_word(self) -> None:
        """Moves the word that is being written, which may span pieces, to a new row."""
        row, carried, room = self.lines[-1].pieces, [], self._word_at or 0
        kept: list[Piece] = []
        for piece in row:
            size = cell_len(piece.text)
            if size <= room:
                kept.append(piece)
                room -= size
            elif room == 0:
                carried.append(piece)
            else:
                cut = _cells_to_index(piece.text, room)
                kept.append(Piece(piece.text[:cut], piece.ink))
                carried.append(Piece(piece.text[cut:], piece.ink))
                room = 0
        self.lines[-1].pieces = kept
        self._break("")
        self.lines[-1].pieces = carried
        self._used = sum(cell_len(piece.text) for piece in carried)
        self._word_at = 0

    def _folded(self, word: str) -> Iterable[str | None]:
        """The word in parts that fit, None where a row ends."""
        room = self.width - self._used
        while cell_len(word) > room:
            cut = _cells_to_index(word, room)
            if cut == 0 and room == self.width:
                cut = 1
            if cut:
                yield word[:cut]
            yield None
            word, room = word[cut:], self.width
        if word:
            yield word


def _cells_to_index(text: str, cells: int) -> int:
    """How many characters of the text fit into so many cells."""
    for index, character in enumerate(text):
        cells -= get_character_cell_size(character)
        if cells < 0:
            return index
    return len(text)
