"""The rows of one part of an answer, in each view."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from specchat.terminal.pieces import Clickable, Piece
from specchat.terminal.word_wrap import Line, Wrapper
from specchat.tui.transcript.markdown import MarkdownRows
from specchat.tui.transcript.parts import ShownPart

TOGGLE_THOUGHT = "toggle_thought"
SECTIONS = 3
"""The sections of a part: its fold, its text, the gap below it."""

_THOUGHT_STYLE = "$quiet"


class View(StrEnum):
    """How an answer is shown."""

    TRACE = "trace"
    COLOURED = "coloured"
    MARKDOWN = "markdown"

    @property
    def following(self) -> View:
        """The view that F3 shows next."""
        views = list(View)
        return views[(views.index(self) + 1) % len(views)]


class PartBody:
    """The rows of one part for a width and a view. A finished thought folds to one line unless the user unfolded it.

    `changed_from` is the first row of text that changed when rows were last asked for.
    """

    def __init__(self, part: ShownPart, number: int, view: View, width: int, *, formulas: bool = True) -> None:
        """`formulas` are shown in Unicode in the Markdown view."""
        self.part = part
        self._number = number
        self._view = view
        self._width = width
        self._thought = part.thought
        self._formulas = formulas
        self._rows: Wrapper | MarkdownRows | None = None
        self._written = 0
        self.changed_from = 0

    @property
    def stale(self) -> bool:
        """Whether the part turned out to be a thought, or not to be one, after it was laid out."""
        return self._thought is not self.part.thought

    def row_of(self, offset: int) -> int:
        """The row of a character of the part's text, in the trace view."""
        return self._rows.row_at(offset) if isinstance(self._rows, Wrapper) else 0

    @property
    def num_codes(self) -> int:
        """The number of code blocks, as far as they are shown as such."""
        return len(self._rows.codes) if isinstance(self._rows, MarkdownRows) else 0

    def sections(self, *, unfolded: bool, codes_above: int = 0) -> tuple[list[Line], list[Line], list[Line]]:
        """The line that folds a thought with its figures, the rows of text, and the gap below a thought.

        `codes_above` is the number of code blocks in the parts before.
        """
        if not self.part.thought:
            return [], self._lines(codes_above), []
        folded = self.part.over and not unfolded
        sign = "▸" if folded else "▾"
        word = "thought for" if self.part.over else "thinking …"
        head = Piece(
            f"{sign} {word} {self.part.summary()}", Clickable(_THOUGHT_STYLE, TOGGLE_THOUGHT, str(self._number))
        )
        heads = [Line([head], ending="\n")]
        gap = [Line(ending="\n")] if self.part.over and self._view is View.MARKDOWN else []
        return heads, [] if folded else self._lines(), gap

    def _lines(self, codes_above: int = 0) -> list[Line]:
        """The rows of the text, with what was added since the last call."""
        pieces = self.part.pieces[self._written :]
        self._written = len(self.part.pieces)
        if self._view is View.MARKDOWN and not self.part.thought:
            text = "".join(piece.text for piece in pieces if piece.emitted)[: self.part.kept]
            if self._rows is None or isinstance(self._rows, Wrapper):
                self._rows = MarkdownRows(self._width, text, codes_above=codes_above, formulas=self._formulas)
            elif text:
                self.changed_from = self._rows.write(text)
        else:
            self._wrap(pieces)
        return self._rows.lines if self._rows is not None else []

    def _wrap(self, pieces: Sequence[Piece]) -> None:
        indent = 2 if self.part.thought else 0
        if not isinstance(self._rows, Wrapper):
            self._rows = Wrapper(self._width - indent)
        if self._view is View.COLOURED:
            pieces = [piece for piece in pieces if piece.emitted]
        elif self._view is View.MARKDOWN:
            pieces = [Piece(piece.text, _THOUGHT_STYLE) for piece in pieces if piece.emitted]
        first = self._rows.write(pieces)
        self.changed_from = first if pieces else self.changed_from
        if indent:
            for line in self._rows.lines[first:]:
                line.prefix = (Piece("▏ ", _THOUGHT_STYLE),)
