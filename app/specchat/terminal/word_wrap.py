"""Word wrap, and the width of text in cells.

Wrapping looks at the last row only, so appending to a long answer costs no more than what is appended. The texts and
endings of the rows, joined, are the text that was written.

Terminals disagree about the width of joined characters: emoji sequences, variation selectors, skin tones. `drawn`
leaves the joiners out, so that each character has its own width, and limits piles of combining marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.cells import get_character_cell_size

from specchat.terminal.pieces import Piece

MARKS_KEPT = 4
"""The most combining marks drawn on one character. Real scripts need three."""

_JOINERS = re.compile("[\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff]")
_JOINER_SET = frozenset(map(chr, (0x200D, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x1F3FB, 0x1F400))))


def width_of(character: str) -> int:
    """The cells of one character: 0 if it is drawn onto the one before it, or not at all."""
    return 0 if character in _JOINER_SET else get_character_cell_size(character)


def cells(text: str) -> int:
    """The cells of a text, as `drawn` shows it."""
    return len(text) if text.isascii() else sum(map(width_of, text))


def drawn(text: str) -> str:
    """What the terminal gets for a text without line ends. It takes as many cells as `cells` says, on any terminal."""
    if text.isascii():
        return text
    text = _JOINERS.sub("", text)
    if len(text) <= MARKS_KEPT:
        return text
    letters: list[str] = []
    marks = 0
    for character in text:
        marks = 0 if width_of(character) else marks + 1
        if marks <= MARKS_KEPT:
            letters.append(character)
    return "".join(letters)


def fit(text: str, room: int, begin: int = 0) -> int:
    """The end of the longest part of the text from `begin` on that fits into `room` cells, combining marks included."""
    if text.isascii():
        return min(len(text), begin + room)
    for index in range(begin, len(text)):
        room -= width_of(text[index])
        if room < 0:
            return index
    return len(text)


_CHUNKS = re.compile(r"\n| +|[^ \n]+")


@dataclass(slots=True)
class Line:
    """One row of the screen. It begins at character `start` of the whole text.

    `ending` is what was there where the row was broken: a line end, spaces that do not fit, or nothing. `prefix` is
    drawn before the row and `label` at its right end; neither is part of the text. `ground` is a background style for
    the whole row.
    """

    pieces: list[Piece] = field(default_factory=list)
    ending: str = ""
    start: int = 0
    prefix: tuple[Piece, ...] = ()
    ground: str = ""
    label: Piece | None = None

    @property
    def text(self) -> str:
        """The row's text without its ending."""
        return "".join(piece.text for piece in self.pieces)


class Wrapper:
    """Breaks pieces into rows of at most `width` cells. Every row but the last is final."""

    __slots__ = ("_length", "_used", "_word_at", "lines", "width")

    def __init__(self, width: int) -> None:
        self.width = max(width, 2)
        self.lines: list[Line] = [Line()]
        self._used = 0
        self._length = 0
        self._word_at: int | None = None

    def write(self, pieces: Iterable[Piece]) -> int:
        """Append pieces. Returns the index of the first row that changed."""
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

    def row_at(self, offset: int) -> int:
        """The row of a character of the text; the last row for a place after its end."""
        return max(0, bisect_right(self.lines, offset, key=lambda line: line.start) - 1)

    def _append(self, piece: Piece, text: str, width: int) -> None:
        row = self.lines[-1].pieces
        if row and row[-1].ink == piece.ink:
            row[-1] = Piece(row[-1].text + text, piece.ink)
        else:
            row.append(Piece(text, piece.ink))
        self._used += width
        self._length += len(text)

    def _break(self, ending: str) -> None:
        last = self.lines[-1]
        last.ending += ending
        self.lines.append(Line(start=last.start + self._length + len(last.ending)))
        self._used = self._length = 0
        self._word_at = None

    def _space(self, piece: Piece, spaces: str) -> None:
        """Append spaces. Those that do not fit are not drawn, and the next word starts a new row."""
        self._word_at = None
        room = self.width - self._used
        if room > 0 and spaces[:room]:
            self._append(piece, spaces[:room], min(room, len(spaces)))
        self.lines[-1].ending += spaces[room:]

    def _word(self, piece: Piece, word: str) -> None:
        width = cells(word)
        if self._word_at is None:
            if self.lines[-1].ending or (self._used >= self.width and width):
                self._break("")
            self._word_at = self._length
        if self._used + width > self.width and self._word_at > 0:
            self._carry_word()
        begin = 0
        while self._used + width > self.width:
            end = fit(word, self.width - self._used, begin)
            if end > begin:
                used = cells(word[begin:end])
                self._append(piece, word[begin:end], used)
                begin, width = end, width - used
            self._break("")
            self._word_at = 0
        if begin < len(word):
            self._append(piece, word[begin:], width)

    def _carry_word(self) -> None:
        """Move the word that is being written, which may span several pieces, to a new row."""
        room = self._word_at or 0
        staying: list[Piece] = []
        carried: list[Piece] = []
        for piece in self.lines[-1].pieces:
            if piece.text[:room]:
                staying.append(Piece(piece.text[:room], piece.ink))
            if piece.text[room:]:
                carried.append(Piece(piece.text[room:], piece.ink))
            room = max(0, room - len(piece.text))
        self.lines[-1].pieces = staying
        self._length = self._word_at or 0
        self._break("")
        self.lines[-1].pieces = carried
        self._length = sum(len(piece.text) for piece in carried)
        self._used = sum(cells(piece.text) for piece in carried)
        self._word_at = 0
