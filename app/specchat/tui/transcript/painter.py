"""Turns rows of pieces into strips in the theme's colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.segment import Segment
from rich.style import Style as RichStyle
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from specchat.terminal.pieces import Clickable, Ink, Piece
from specchat.terminal.word_wrap import Line, drawn

_STROKES = (Ink.REJECTED, Ink.DISCARDED, Ink.CORRECTION)
"""Styles with a line through or under the text. The line starts at the first letter, not at the space before it."""

CLICK = "specchat_click"
"""The key under which a segment holds its action and argument for a click."""

_SELECTION = "screen--selection"
_TOKEN = RichStyle(reverse=True)


class Painter:
    """Draws for one widget and keeps the styles of the current theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._styles: dict[tuple[Ink | Clickable | str, str], RichStyle] = {}

    def forget(self) -> None:
        """Look all styles up again, after a change of theme."""
        self._styles.clear()

    def strip(
        self,
        line: Line,
        width: int,
        row: int,
        *,
        suffix: Sequence[Piece] = (),
        selected: tuple[int, int] | None = None,
        marked: tuple[int, int] | None = None,
    ) -> Strip:
        """A row, padded to `width` cells.

        `selected` and `marked` are spans of its characters; an end of -1 is the row's end.
        """
        ground = line.ground
        text = [segment for piece in line.pieces for segment in self._segments(piece, ground)]
        for span, look in ((selected, self._selection), (marked, _TOKEN)):
            if span is not None:
                text = _restyled(text, span, look)
        body = Strip(_drawn(text)).apply_offsets(0, row)
        before = [segment for piece in line.prefix for segment in self._segments(piece, ground)]
        after = [segment for piece in suffix for segment in self._segments(piece, ground)]
        whole = Strip([*_drawn(before), *body, *_drawn(after)])
        if line.label is not None and whole.cell_length + len(line.label.text) < width:
            room = width - len(line.label.text)
            label = self._segments(line.label, ground)
            whole = Strip([*whole.adjust_cell_length(room, self._style("", ground)), *label])
        return whole.adjust_cell_length(width, self._style("", ground))

    def blank(self, width: int) -> Strip:
        """A blank row."""
        return Strip.blank(width, self._style(""))

    def _segments(self, piece: Piece, ground: str) -> Iterator[Segment]:
        letters = piece.text.lstrip(" ") if piece.ink in _STROKES else piece.text
        spaces = len(piece.text) - len(letters)
        if spaces:
            yield Segment(" " * spaces, self._style("", ground))
        if letters:
            yield Segment(letters, self._style(piece.ink, ground))

    def _style(self, ink: Ink | Clickable | str, ground: str = "") -> RichStyle:
        style = self._styles.get((ink, ground))
        if style is None:
            style = self._styles[ink, ground] = self._looked_up(ink, ground)
        return style

    def _looked_up(self, ink: Ink | Clickable | str, ground: str) -> RichStyle:
        if isinstance(ink, Clickable):
            return self._style(ink.style, ground) + RichStyle.from_meta({CLICK: (ink.action, ink.argument)})
        if isinstance(ink, Ink):
            variables = self._widget.app.theme_variables
            attributes = variables[f"outcome-{ink.value}-style"]
            ink = f"{variables[f'outcome-{ink.value}']} {'' if attributes == 'none' else attributes}"
        style = self._widget.visual_style
        for words in (ground, ink):
            if words.strip():
                style += Style.parse(words)
        return style.rich_style

    @property
    def _selection(self) -> RichStyle:
        return self._widget.screen.get_component_rich_style(_SELECTION, partial=True)


def _drawn(segments: Sequence[Segment]) -> list[Segment]:
    return [Segment(drawn(segment.text), segment.style) for segment in segments]


def _restyled(segments: Sequence[Segment], span: tuple[int, int], look: RichStyle) -> list[Segment]:
    """The segments, with another style added between two characters."""
    begin, end = span
    pieces: list[Segment] = []
    offset = 0
    for text, style, _ in segments:
        first = min(max(begin - offset, 0), len(text))
        last = len(text) if end == -1 else min(max(end - offset, first), len(text))
        parts = ((text[:first], style), (text[first:last], (style or RichStyle()) + look), (text[last:], style))
        pieces += [Segment(part, own) for part, own in parts if part]
        offset += len(text)
    return pieces
