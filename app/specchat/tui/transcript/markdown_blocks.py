"""The blocks of a Markdown text. Each one lays itself out for a width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple, Protocol

from textual.highlight import highlight

from specchat.terminal.pieces import Piece
from specchat.terminal.word_wrap import Line, Wrapper, cells, fit

CODE_GROUND = "on $surface"
QUIET = "$quiet"
_LEAST = 8
"""Cells that are left for the text, however deep it is nested."""
_HIGHLIGHTED_MOST = 20_000
_LONG_LINE = 2_000


class Margin(NamedTuple):
    """The text before a block's rows, such as a bullet or a quote's bar:

    `first` before the first row, `rest` before others.
    """

    first: str = ""
    rest: str = ""

    def joined(self, inner: Margin) -> Margin:
        """This margin with another one inside it."""
        return Margin(self.first + inner.first, self.rest + inner.rest)

    def room(self, width: int) -> int:
        """The cells left for the text."""
        return max(width - cells(self.first), min(_LEAST, width))

    def pieces(self, width: int, *, first: bool) -> tuple[Piece, ...]:
        """The margin of a row, cut to the room there is."""
        text = self.first if first else self.rest
        text = text[: fit(text, max(0, width - self.room(width)))]
        return (Piece(text, QUIET),) if text else ()

    def before(self, lines: list[Line], width: int) -> list[Line]:
        """Put this margin before the lines."""
        for index, line in enumerate(lines):
            line.prefix = (*self.pieces(width, first=index == 0), *line.prefix)
        return lines


NO_MARGIN = Margin()


class MarkdownBlock(Protocol):
    """A block. `gap` says whether a blank row comes before it."""

    gap: bool

    def lay(self, width: int) -> list[Line]:
        """The rows of the block."""


@dataclass
class TextBlock:
    """A paragraph, a heading or a list item."""

    pieces: Sequence[Piece]
    margin: Margin = NO_MARGIN
    gap: bool = True

    def lay(self, width: int) -> list[Line]:
        """Wrapped rows."""
        wrapper = Wrapper(self.margin.room(width))
        wrapper.write(self.pieces)
        return self.margin.before(wrapper.lines, width)


@dataclass
class CodeBlock:
    """Code on its own background, highlighted unless it is very long. `/copy` knows it by its `number`."""

    code: str
    language: str
    margin: Margin = NO_MARGIN
    gap: bool = True
    number: int = 0

    def lay(self, width: int) -> list[Line]:
        """Wrapped rows, one cell in from the edge of the background."""
        room = self.margin.room(width)
        wrapper = Wrapper(room - 2)
        wrapper.write(self._pieces)
        for line in wrapper.lines:
            line.prefix, line.ground = (Piece(" ", CODE_GROUND),), CODE_GROUND
        if self.number:
            wrapper.lines[0].label = Piece(f"{self.number} ", QUIET)
        return self.margin.before(wrapper.lines, width)

    @cached_property
    def _pieces(self) -> list[Piece]:

        code = self.code
        if len(code) > _HIGHLIGHTED_MOST or any(len(line) > _LONG_LINE for line in code.split("\n")):
            return [Piece(code, "")]
        pieces: list[Piece] = []
        content = highlight(code, language=self.language or "text")
        end = 0
        for span in sorted(content.spans[1:]):
            # The first span colours everything; the others follow each other.
            pieces.append(Piece(content.plain[end : span.start], ""))
            pieces.append(Piece(content.plain[span.start : span.end], str(span.style)))
            end = span.end
        return [piece for piece in (*pieces, Piece(content.plain[end:], "")) if piece.text]


@dataclass
class RuleBlock:
    """A horizontal rule."""

    margin: Margin = NO_MARGIN
    gap: bool = True

    def lay(self, width: int) -> list[Line]:
        """One row."""
        return self.margin.before([Line([Piece("─" * self.margin.room(width), QUIET)])], width)


@dataclass
class TableBlock:
    """A table. Columns shrink until they fit, and each cell is wrapped."""

    rows: list[list[list[Piece]]] = field(default_factory=list)
    margin: Margin = NO_MARGIN
    gap: bool = True

    def lay(self, width: int) -> list[Line]:
        """The heading, a line, then the rows."""
        room = self.margin.room(width)
        columns = self._columns(room)
        if not columns:
            return TextBlock(self._as_text(), self.margin).lay(width)
        lines: list[Line] = []
        for number, row in enumerate(self.rows):
            wrappers = [Wrapper(size) for size in columns]
            for wrapper, cell in zip(wrappers, row, strict=False):
                wrapper.write(cell)
            side_by_side = zip_longest(*(wrapper.lines for wrapper in wrappers))
            lines += [_joined(parts, columns) for parts in side_by_side]
            if number == 0:
                lines.append(Line([Piece("─┼─".join("─" * size for size in columns), QUIET)], ending="\n"))
        start = 0
        for line in lines:
            line.start = start
            start += len(line.text) + len(line.ending)
        lines[-1].ending = ""
        return self.margin.before(lines, width)

    def _as_text(self) -> list[Piece]:
        """One line a row, for when there is no room for columns."""
        pieces: list[Piece] = []
        for row in self.rows:
            pieces.append(Piece("\n" if pieces else "", ""))
            for at, cell in enumerate(row):
                pieces += [Piece(" │ " if at else "", QUIET), *cell]
        return pieces

    def _columns(self, room: int) -> list[int]:
        count = max(map(len, self.rows))
        wanted = [
            max((cells("".join(piece.text for piece in row[at])) for row in self.rows if at < len(row)), default=0)
            for at in range(count)
        ]
        spare = room - 3 * (count - 1)
        if spare < 2 * count:
            return []
        wanted = [max(2, min(size, spare)) for size in wanted]
        while sum(wanted) > spare:
            wanted[wanted.index(max(wanted))] -= 1
        return wanted


def _joined(parts: Sequence[Line | None], columns: Sequence[int]) -> Line:
    pieces: list[Piece] = []
    for at, (part, size) in enumerate(zip(parts, columns, strict=True)):
        if at:
            pieces.append(Piece(" │ ", QUIET))
        own = part.pieces if part else []
        pieces += own
        pieces.append(Piece(" " * (size - sum(cells(piece.text) for piece in own)), ""))
    return Line([piece for piece in pieces if piece.text], ending="\n")
