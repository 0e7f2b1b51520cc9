"""The answers as one self-contained SVG file that is legible on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from rich.cells import cell_len

from specchat.models.labels import recorded_pair
from specchat.terminal.filter import clean
from specchat.terminal.pieces import Ink, Inker, Piece
from specchat.terminal.word_wrap import Wrapper
from specchat.traces.exports.document import (
    FOLD,
    FOLDED,
    Document,
    figures_of,
    shapes,
    short_name,
    values,
    when_dark,
    with_images,
)
from specchat.traces.trace import Trace

COLUMNS = 96
_CELL, _ROW, _MARGIN = 8.4, 21, 24
_LEGEND = (
    (Ink.ACCEPTED, "accepted"),
    (Ink.REJECTED, "rejected"),
    (Ink.CORRECTION, "correction"),
    (Ink.DISCARDED, "discarded"),
    (Ink.BONUS, "bonus"),
    (Ink.PLAIN, "plain"),
)
_NO_CHARACTERS = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""Characters that pass the terminal filter but are not allowed in XML."""

_FONT = "text { font: 14px ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }"


@dataclass(slots=True)
class _Page:
    """A page that grows row by row."""

    rows: int = 0
    parts: list[str] = field(default_factory=list)

    @property
    def y(self) -> float:
        return _MARGIN + 16 + self.rows * _ROW

    def line(self, runs: Iterable[tuple[str, str]]) -> None:
        """Adds a row of (text, class) runs. Each run keeps its width in cells, whatever the viewer's font is."""
        column = 0
        for text, kind in runs:
            word = text.strip(" ")
            if word:
                x = _MARGIN + (column + len(text) - len(text.lstrip(" "))) * _CELL
                self.parts.append(
                    f'<text x="{x:.1f}" y="{self.y:g}" class="{kind}" textLength="{cell_len(word) * _CELL:.1f}" '
                    f'lengthAdjust="spacingAndGlyphs">{_safe(word)}</text>'
                )
            column += cell_len(text)
        self.rows += 1

    def rule(self) -> None:
        """Adds a thin line."""
        y = self.y - _ROW / 4
        self.parts.append(f'<path class="rule" d="M{_MARGIN} {y:g}h{COLUMNS * _CELL:g}"/>')
        self.rows += 1


def svg(document: Document) -> str:
    """Each question with its answer in the colours of the trace view, the figures, and a legend."""
    page = _Page()
    for line in _wrapped(document.title):
        page.line([(line, "title")])
    pair = ""
    for trace in document.traces:
        if (named := recorded_pair(trace.start)) != pair:
            pair = named
            for line in _wrapped(pair):
                page.line([(line, "quiet")])
        _turn(page, trace)
    page.rule()
    page.line(_legend())
    width, height = COLUMNS * _CELL + 2 * _MARGIN, page.rows * _ROW + 2 * _MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img" aria-label="{_safe(document.title)}">',
            f"<style>\n{_style()}\n</style>",
            f'<rect class="page" x=".5" y=".5" width="{width - 1:g}" height="{height - 1:g}" rx="8"/>',
            *page.parts,
            "</svg>\n",
        )
    )


def _style() -> str:
    dark = _fills(dark=True)
    return "\n".join((_FONT, _fills(dark=False), ".title { font-weight: 700 }", shapes(), when_dark(dark)))


def _fills(*, dark: bool) -> str:
    """Rules with literal colours, since not every viewer supports custom properties."""
    colours = values(dark=dark)
    rules = [f".page {{ fill: {colours['page']} }}", f".page, .rule {{ stroke: {colours['line']} }}"]
    rules += [f".{name} {{ fill: {colours[name]} }}" for name in ("quiet", *Ink)]
    return "\n".join([*rules, f".title {{ fill: {colours['strong']} }}"])


def _turn(page: _Page, trace: Trace) -> None:
    page.rule()
    question = with_images(trace.asked, map(short_name, trace.images))
    for index, line in enumerate(_wrapped(clean(question), COLUMNS - 2)):
        page.line([("› " if index == 0 else "  ", "quiet"), (line, "quiet")])
    page.rows += 1
    for pieces in _answer(trace):
        page.line((piece.text, _kind(piece)) for piece in pieces)
    page.rows += 1
    if trace.error is not None:
        for line in _wrapped(clean(trace.error)):
            page.line([(line, "quiet")])
    for line in _wrapped(figures_of(trace)):
        page.line([(line, "quiet")])


def _kind(piece: Piece) -> str:
    return f"{piece.ink} {FOLD}" if piece.text == FOLDED else str(piece.ink)


def _answer(trace: Trace) -> Iterator[Sequence[Piece]]:
    inker, wrapper = Inker(), Wrapper(COLUMNS)
    for event in (*([trace.opening] if trace.opening else []), *trace.rounds):
        wrapper.write(inker.pieces(event))
    for line in wrapper.lines:
        yield line.pieces


def _wrapped(text: str, columns: int = COLUMNS) -> Iterator[str]:
    wrapper = Wrapper(columns)
    wrapper.write([Piece(text.replace("\t", "    "), Ink.PLAIN)])
    for line in wrapper.lines:
        yield line.text


def _legend() -> Iterator[tuple[str, str]]:
    for ink, word in _LEGEND:
        yield word, ink.value
        yield "   ", "quiet"


def _safe(text: str) -> str:
    """Text for XML. Repeated spaces become no-break spaces, since viewers would drop them."""
    return escape(text.translate(_NO_CHARACTERS).replace("  ", "\u00a0\u00a0"))
