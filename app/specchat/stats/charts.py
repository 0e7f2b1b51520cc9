"""Charts of characters, for a terminal of any width: lines of styled text that the app and the command line draw."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from specchat.stats.spread import Spread
from specchat.stats.summary import Figures
from specchat.terminal.blocks import bar, columns, levels, per_cent, percent
from specchat.terminal.filter import clean_line
from specchat_engine.decoding.rounds import Round


class Style(StrEnum):
    """How a piece is drawn. Signs alone carry the meaning; the style helps."""

    PLAIN = "plain"
    QUIET = "quiet"
    STRONG = "strong"
    ACCEPTED = "accepted"
    TARGET = "target"


Line = tuple[tuple[str, Style], ...]

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_REASONS = 4
_LEAST = 24
"""Below so many columns a chart is as wide as that."""


def as_text(lines: Iterable[Line]) -> str:
    """The lines without their styles."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def position_bars(figures: Figures, width: int) -> list[Line]:
    """For each position in a draft a bar: how many of the tokens drafted there were accepted, and how often it was."""
    room = max(width, _LEAST) - 18
    lines: list[Line] = []
    for place, (drafted, accepted) in enumerate(zip(figures.drafted_at, figures.accepted_at, strict=True), 1):
        share = accepted / drafted
        lines.append(
            (
                (f"{place:>3} ", Style.QUIET),
                (bar(share, room), Style.ACCEPTED),
                (percent(share), Style.PLAIN),
                (f" of {drafted}"[:9], Style.QUIET),
            )
        )
    return lines


def k_chart(rounds: Sequence[Round], width: int) -> list[Line]:
    """k over the turn as blocks, the mean of neighbouring rounds where there are many, and its commonest reasons."""
    if not rounds:
        return []
    width = max(width, _LEAST)
    most = max(event.k for event in rounds)
    blocks = levels(columns([event.k for event in rounds], width - 4), float(most))
    reasons: dict[str, list[Round]] = {}
    for event in rounds:
        reasons.setdefault(_NUMBER.sub("#", event.reason), []).append(event)
    common = sorted(reasons.values(), key=len, reverse=True)[:_REASONS]
    lines: list[Line] = [
        (("k   ", Style.QUIET), (blocks, Style.ACCEPTED)),
        ((f"    0 to {most} in {len(rounds)} rounds"[:width], Style.QUIET),),
    ]
    for events in common:
        told = clean_line(events[-1].reason) or "no reason given"
        share = percent(len(events) / len(rounds))
        lines.append(((f"{share} ", Style.PLAIN), (_cut(f"k {_ks(events)}: {told}", width - 6), Style.QUIET)))
    return lines


def histogram(spread: Spread, width: int, rows: int = 8) -> list[Line]:
    """How long rounds took: bins that grow by the same factor, a bar for each, and the percentiles below."""
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
    told = [f"p{share * 100:.0f} {_ms(value)}" for share in (0.5, 0.9, 0.99) if (value := spread.quantile(share))]
    lines.append(((_cut("ms  " + "  ".join(told), max(width, _LEAST)), Style.STRONG),))
    return lines


def kinds_table(by_name: Iterable[tuple[str, Figures]], width: int) -> list[Line]:
    """Figures side by side: a row for each kind of content or source, with its share of the tokens."""
    named = [(clean_line(name), figures) for name, figures in by_name if figures.num_rounds]
    total = sum(figures.num_tokens for _, figures in named) or 1
    head = f"{'':<10}{'tokens':>8}{'share':>7}{'α':>6}{'τ':>6}{'tok/s':>8}"
    lines: list[Line] = [((_cut(head, width), Style.QUIET),)]
    for name, figures in named:
        cells = (
            f"{figures.num_tokens:>8}{per_cent(figures.num_tokens / total):>7}{_decimals(figures.alpha):>6}"
            f"{_decimals(figures.block_efficiency):>6}{figures.tokens_per_second or 0:>8.0f}"
        )
        lines.append(((f"{_cut(name, 9):<10}", Style.PLAIN), (_cut(cells, width - 10), Style.PLAIN)))
    return lines if named else []


def _ks(events: Sequence[Round]) -> str:
    low, high = min(event.k for event in events), max(event.k for event in events)
    return str(low) if low == high else f"{low} to {high}"


def _ms(value: float) -> str:
    """Milliseconds in six cells at most."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value / 1000:.1f}s"


def _decimals(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
