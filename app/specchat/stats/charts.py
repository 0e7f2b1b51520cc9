"""Charts made of characters for a terminal of any width, as lines of styled text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from specchat.stats.spread import Spread
from specchat.stats.summary import Figures
from specchat.terminal.blocks import bar, columns, cut, levels, number, percent, percents
from specchat.terminal.filter import clean, clean_line
from specchat_engine.decoding.rounds import Round


class Style(StrEnum):
    """How a piece of text is drawn, in the words of the app's theme. The characters alone carry the meaning."""

    PLAIN = ""
    QUIET = "$quiet"
    STRONG = "bold"
    ACCEPTED = "$outcome-accepted"
    REJECTED = "$outcome-rejected"
    DISCARDED = "$outcome-discarded"
    TARGET = "$outcome-correction"
    BONUS = "$outcome-bonus"
    UNDRAFTED = "$outcome-plain"
    GAIN = "bold $outcome-accepted"
    LOSS = "bold $outcome-correction"


Piece = tuple[str, Style]
Line = tuple[Piece, ...]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_REASONS = 4
_LEAST = 24
"""The smallest width of a chart in columns."""

_TABLE = 45
"""The width of a table."""

SOLID, DOTTED = "─", "·"
UPRIGHT = "┊"

LABELS = 8
"""The width of what stands left of the cells."""


def as_text(lines: Iterable[Line]) -> str:
    """The lines without their styles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def wrapped(text: str, width: int, style: Style = Style.PLAIN, *, indent: str = "", hang: str = "") -> list[Line]:
    """A sentence in rows. All but the first begin with `hang`."""
    wrapper = textwrap.TextWrapper(
        max(width, 12), initial_indent=indent, subsequent_indent=indent + hang, break_on_hyphens=False
    )
    rows = wrapper.wrap(clean(text))
    return [((row, style),) for row in rows]


def position_bars(figures: Figures, width: int) -> list[Line]:
    """A bar for each place of the drafts: the share of drafts whose token there was accepted, and their number."""
    room = max(width, _LEAST) - 19
    lines: list[Line] = []
    for position, (drafted, share) in enumerate(zip(figures.drafted_at, figures.accepted_by_place, strict=True), 1):
        lines.append(
            (
                (f"{position:>3} ", Style.QUIET),
                (bar(share, room), Style.ACCEPTED),
                (f" {percent(share)}", Style.PLAIN),
                (f" of {drafted}"[:9], Style.QUIET),
            )
        )
    return lines


def k_chart(rounds: Sequence[Round], width: int) -> list[Line]:
    """k over the turn as blocks, averaged over neighbouring rounds if there are many, and its most common reasons."""
    if not rounds:
        return []
    width = max(width, _LEAST)
    most = max(event.k for event in rounds)
    blocks = levels(columns([event.k for event in rounds], width - 4), float(most))
    reasons: dict[str, list[Round]] = {}
    for event in rounds:
        reasons.setdefault(_NUMBER.sub("#", event.reason), []).append(event)
    common = sorted(reasons.values(), key=len, reverse=True)
    shares = percents(len(events) / len(rounds) for events in common)
    lines: list[Line] = [
        (("k   ", Style.QUIET), (blocks, Style.ACCEPTED)),
        *wrapped(f"k {_ks(rounds)} in {len(rounds)} rounds", width, Style.QUIET, indent="    "),
    ]
    for events, share in zip(common[:_REASONS], shares, strict=False):
        reason = clean_line(events[-1].reason) or "no reason given"
        begin = f"{share:>3} % "
        first, *rest = wrapped(f"k {_ks(events)}: {reason}", width - len(begin), Style.QUIET)
        lines += [((begin, Style.PLAIN), *first), *(((" " * len(begin), Style.PLAIN), *line) for line in rest)]
    if others := sum(shares[_REASONS:]):
        lines.append(((f"{others:>3} % ", Style.PLAIN), ("other reasons", Style.QUIET)))
    return lines


def histogram(spread: Spread, width: int, rows: int = 8) -> list[Line]:
    """The times of rounds: a bar for each bin, in bins that grow by a constant factor, and percentiles below."""
    bins = spread.bins(rows)
    if not bins:
        return []
    room = max(width, _LEAST) - 22
    most = max(count for _, _, count in bins)
    lines: list[Line] = [
        (
            (f"{_ms(low):>6} – {_ms(high):<6} ", Style.QUIET),
            (bar(count / most, room) if room > 0 else "", Style.ACCEPTED),
            (f"{count:>6}", Style.PLAIN),
        )
        for low, high, count in bins
    ]
    percentiles = [
        f"p{share * 100:.0f} {_ms(value)}" for share in (0.5, 0.9, 0.99) if (value := spread.quantile(share))
    ]
    return lines + wrapped("ms  " + "  ".join(percentiles), max(width, _LEAST), Style.STRONG, hang="    ")


def kinds_table(by_name: Iterable[tuple[str, Figures]], width: int) -> list[Line]:
    """A row for each kind of content or source, with its share of the tokens; sentences where a table has no room."""
    named = [(clean_line(name), figures) for name, figures in by_name if figures.num_rounds]
    total = sum(figures.num_tokens for _, figures in named) or 1
    shares = percents(figures.num_tokens / total for _, figures in named)
    if width < _TABLE:
        rows = zip(named, shares, strict=True)
        return [line for (name, figures), share in rows for line in _kind(name, figures, share, width)]
    head = f"{'':<10}{'tokens':>8}{'share':>7}{'α':>6}{'τ':>6}{'tok/s':>8}"
    lines: list[Line] = [((head, Style.QUIET),)]
    for (name, figures), share in zip(named, shares, strict=True):
        cells = (
            f"{figures.num_tokens:>8}{f'{share} %':>7}{number(figures.alpha, 6, 2)}"
            f"{number(figures.block_efficiency, 6, 2)}{figures.tokens_per_second or 0:>8.0f}"
        )
        lines.append(((f"{cut(name, 9):<10}", Style.PLAIN), (cells, Style.PLAIN)))
    return lines if named else []


class Plot:
    """Marks and lines in `columns` × `height` cells; the bottom row stands for the value `low`, the top row for `high`.

    A cell shows what was drawn there last.
    """

    def __init__(self, columns: int, height: int, low: float, high: float) -> None:
        self.columns = columns
        self.height = height
        self._low = low
        self._high = high
        self._cells: dict[tuple[int, int], tuple[str, Style]] = {}

    def mark(self, column: int, value: float, sign: str, style: Style) -> None:
        """Draws one character."""
        self._cells[column, self._row(value)] = sign, style

    def line(self, start: tuple[int, float], end: tuple[int, float], sign: str, style: Style = Style.QUIET) -> None:
        """Draws the columns between two points, each a column and a value."""
        (left, first), (right, last) = start, end
        for column in range(left + 1, right):
            self.mark(column, first + (last - first) * (column - left) / (right - left), sign, style)

    def upright(self, column: int) -> None:
        """Draws a line from the bottom to the top."""
        for row in range(self.height):
            self._cells[column, row] = UPRIGHT, Style.QUIET

    def value(self, row: int) -> float:
        """The value that a row stands for; row 0 is at the bottom."""
        return self._low + (self._high - self._low) * row / (self.height - 1)

    def lines(self, labels: Mapping[int, str]) -> list[Line]:
        """The rows from the top down, with the labels of some of them."""
        return [
            (
                (f"{labels.get(row, ''):>{LABELS - 2}} │", Style.QUIET),
                *(self._cells.get((column, row), (" ", Style.PLAIN)) for column in range(self.columns)),
            )
            for row in reversed(range(self.height))
        ]

    def _row(self, value: float) -> int:
        return round((value - self._low) / (self._high - self._low) * (self.height - 1))


def _kind(name: str, figures: Figures, share: int, width: int) -> list[Line]:
    sentence = (
        f"{name}: {figures.num_tokens} tokens, {share} %, "
        f"α {number(figures.alpha, 1, 2)}, τ {number(figures.block_efficiency, 1, 2)}, "
        f"{figures.tokens_per_second or 0:.0f} tok/s"
    )
    return wrapped(sentence, width, hang="  ")


def _ks(events: Sequence[Round]) -> str:
    low, high = min(event.k for event in events), max(event.k for event in events)
    return str(low) if low == high else f"{low} to {high}"


def _ms(value: float) -> str:
    """Milliseconds in at most six cells."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value / 1000:.1f}s"
