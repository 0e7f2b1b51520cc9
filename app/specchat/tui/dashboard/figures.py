"""The figures of a turn as styled text. All bars and numbers have a fixed width, so nothing jumps while they change."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple

from textual.content import Content

from specchat.stats.explain import Figure
from specchat.stats.line import UNKNOWN, shown_shares
from specchat.stats.turn import TurnView
from specchat.terminal.blocks import bar, columns, cut, levels, number, per_cent, percent, percents, speed
from specchat.terminal.filter import clean_line
from specchat.terminal.palette import LOOKS
from specchat_engine.load_options import MemoryUse

Styled = tuple[str, str] | str
"""Text, or text and its style in the theme's words."""

QUIET = "$quiet"
ACCEPTED = "$outcome-accepted"
TARGET = "$outcome-correction"
BONUS = "$outcome-bonus"
STRONG = "bold"

_LABEL, _SPEEDUP = 9, 15
_GAP = 99
_SHADES = (("█", TARGET), ("▓", ACCEPTED), ("▒", BONUS), ("░", QUIET))
"""The parts of a whole. They differ in shade as well as in colour."""


class Row(NamedTuple):
    """A row of the panel.

    Rows with a larger `spare` are dropped first when there is no room. `figure` explains the row.
    """

    parts: Sequence[Styled]
    spare: int = 0
    figure: Figure | None = None


def rows(view: TurnView, width: int) -> list[Row]:
    """The rows of the panel for `width` cells. The rows of `ribbon` come below.

    There are always as many, except that in a narrow panel some figures need a further row.
    """
    room = max(width - _LABEL, 12)
    gap = Row((), _GAP)
    return [
        Row(
            [(speed(view.tokens_per_second), STRONG), (" tok/s", QUIET), *_over_the_turn(view)],
            0,
            Figure.SPEED,
        ),
        Row([*_speedup(view), (_ahead(view), QUIET)], 0, Figure.SPEEDUP),
        gap,
        Row(
            [
                _label(Figure.ACCEPTED),
                (bar(view.figures.acceptance_rate or 0.0, room - 6), ACCEPTED),
                " ",
                percent(view.figures.acceptance_rate),
            ],
            0,
            Figure.ACCEPTED,
        ),
        Row([_label("α"), number(view.figures.alpha, 5, 2), *_compared(view)], 0, Figure.ALPHA),
        *_flowing("τ", _tau(view), width, 1, Figure.TAU),
        Row([_label(Figure.BY_POSITION), *_positions(view, room)], 3, Figure.BY_POSITION),
        Row([_label(Figure.BREAK_EVEN), *_gauge(view, room)], 1, Figure.BREAK_EVEN),
        *_break_even(view, width),
        Row([_label(Figure.TIME), *_shaded(_times(view), room)], 2, Figure.TIME),
        *_flowing("in %", _named(_times(view), view.figures.num_rounds > 0), width, 5, Figure.TIME),
        Row([_label(Figure.SOURCES), *_sources(view)], 4, Figure.SOURCES),
        Row([_label("k"), *_lengths(view, room)], 1, Figure.K),
        Row([" " * _LABEL, (cut(clean_line(view.reason), room), QUIET)], 3, Figure.K),
        gap,
        Row([_label("tok/s"), (_curve(view.history, room), ACCEPTED)], 6, Figure.SPEED),
        *_memory(view.memory, width),
        Row(
            [_label(Figure.SO_FAR), f"{view.figures.num_tokens} tokens in {view.figures.num_rounds} rounds"],
            8,
            Figure.SO_FAR,
        ),
        gap,
    ]


def ribbon(view: TurnView, width: int, height: int) -> list[Row]:
    """The latest rounds in `height` rows."""
    lines = words(view.ribbon, width, height)
    return [Row(part, 1 + 2 * place, Figure.ROUNDS) for place, part in enumerate(lines + [[]] * (height - len(lines)))]


def strip(view: TurnView, width: int) -> Content:
    """The dashboard in one row, for narrow screens. Figures that do not fit are left out from the right."""
    figures = view.figures
    tau = figures.block_efficiency if figures.num_draft_tokens else None
    groups: list[list[Styled]] = [
        [(speed(view.tokens_per_second), STRONG), (" tok/s ", QUIET)],
        _speedup(view, of="expected" if view.expected else "plain"),
        [(" acc ", QUIET), (bar(figures.acceptance_rate or 0.0, 5), ACCEPTED), f" {percent(figures.acceptance_rate)}"],
        [("  α ", QUIET), number(figures.alpha, 4, 2)],
        [("  τ ", QUIET), number(tau, 4, 2)],
    ]
    while _length(groups) > width and len(groups) > 1:
        groups.pop()
    left = width - _length(groups) - 2
    if left >= 6:
        groups.append(["  ", *latest(view.ribbon, left)])
    return Content.assemble(*chain.from_iterable(groups)).truncate(width)


def _length(groups: Iterable[Sequence[Styled]]) -> int:
    return sum(len(part if isinstance(part, str) else part[0]) for group in groups for part in group)


def _flowing(label: str, groups: Iterable[Sequence[Styled]], width: int, spare: int, figure: Figure) -> list[Row]:
    """Groups of parts in as many rows as they need. A group is never split; blanks at its end may be cut off."""
    lines: list[list[Sequence[Styled]]] = [[[_label(label)]] if label else []]
    for group in groups:
        text = "".join(part if isinstance(part, str) else part[0] for part in group)
        if lines[-1] and _length(lines[-1]) + len(text.rstrip()) > width:
            lines.append([[_label("")]] if label else [])
        lines[-1].append(group)
    return [Row([*chain.from_iterable(line)], spare, figure) for line in lines]


def _label(text: str) -> Styled:
    return (text.ljust(_LABEL), QUIET)


def _curve(values: Sequence[float], room: int) -> str:
    return levels(columns(values, room), max(values, default=0.0))


def _over_the_turn(view: TurnView) -> list[Styled]:
    if view.final:
        return [(" over the turn", QUIET)]
    return [(" now ", QUIET), speed(view.figures.tokens_per_second), (" over the turn", QUIET)]


def _speedup(view: TurnView, of: str = "plain") -> list[Styled]:
    """The speed-up, measured or expected, in the room that the longest one takes."""
    found = view.speedup or view.expected
    if found is None:
        unknown = UNKNOWN if view.figures.num_rounds else " – × plain"
        return [(f"  {unknown}".ljust(_SPEEDUP), QUIET)]
    style = f"{STRONG} {ACCEPTED if found >= 1 else TARGET}"
    return [(number(found, 4, 2), style), (f" × {of}".ljust(_SPEEDUP - 4), QUIET)]


def _ahead(view: TurnView) -> str:
    """What the speed-up means, and whether it is a forecast."""
    if view.speedup is None:
        unknown = "other programs use the CPU" if view.disturbed else "not known" if view.final else ""
        return "expected" if view.expected else unknown
    change = view.speedup - 1
    return f"{per_cent(abs(change))} {'faster' if change >= 0 else 'slower'}"


def _compared(view: TurnView) -> list[Styled]:
    figures = view.figures
    if not figures.num_tested_tokens:
        return []
    return [(f"  {figures.num_accepted_tokens} of {figures.num_tested_tokens} compared", QUIET)]


def _tau(view: TurnView) -> list[list[Styled]]:
    if not view.figures.num_draft_tokens:
        return [[number(None, 5, 2)]]
    return [
        [number(view.figures.block_efficiency, 5, 2), ("  tokens a pass,", QUIET)],
        [(f" {view.k_most + 1} at most", QUIET)],
    ]


def _positions(view: TurnView, room: int) -> list[Styled]:
    shares = view.figures.accepted_by_place
    if not shares:
        return [("–", QUIET)]
    shown = levels(shares, 1.0)[:room]
    numbers = "".join(f" {share * 100:.0f}" for share in shares)
    left = room - len(shown) - 4
    if len(numbers) > left:
        numbers = numbers[: max(left, 0)].rpartition(" ")[0] + " …"
    return [(shown, ACCEPTED), f" {numbers}", (" %", QUIET)] if left > 4 else [(shown, ACCEPTED)]


def _gauge(view: TurnView, room: int) -> list[Styled]:
    """α as a bar from 0 to 1, with a stroke at the break-even point."""
    found = view.break_even
    if found is None:
        return [("–", QUIET)]
    has = min(round(found.has * room), room)
    cells = "━" * has + "─" * (room - has)
    if found.needed is None:
        return [(cells, TARGET)]
    at = min(int(found.needed * room), room - 1)
    style = ACCEPTED if found.pays else TARGET
    return [(cells[:at], style), ("┃", STRONG), (cells[at + 1 :], style)]


def _break_even(view: TurnView, width: int) -> list[Row]:
    """What the gauge says, in at least two rows. An empty second one is a gap."""
    found = view.break_even
    words = _no_break_even(view) if found is None else found.sentence()
    told = [Row([(line, QUIET)], 1, Figure.BREAK_EVEN) for line in textwrap.wrap(words, width)]
    return [*told, *[Row((), _GAP)] * (2 - len(told))]


def _no_break_even(view: TurnView) -> str:
    """Why there is no gauge; nothing before the first round."""
    if not view.figures.num_rounds:
        return ""
    if view.figures.alpha is None:
        return "nothing was drafted" if view.final else "nothing drafted yet"
    return "the speed-up is not known" if view.final else "waits for the speed-up"


_LONG_ROLLBACK = 0.02
_NO_TIMES = {"draft": 0.0, "verify": 0.0, "rollback": 0.0, "other": 0.0}


def _times(view: TurnView) -> list[tuple[str, float]]:
    """The shares of the decoding time, with that of a long rollback as `back`."""
    shares = shown_shares(view.figures.shares or _NO_TIMES, _LONG_ROLLBACK)
    return [("back" if name == "rollback" else name, share) for name, share in shares.items()]


def _shaded(shares: Sequence[tuple[str, float]], room: int) -> Iterator[Styled]:
    """A bar in which each share has its own shade. The rest stays light."""
    drawn = 0
    for (glyph, style), (_, share) in zip(_SHADES, shares, strict=False):
        cells = min(round(share * room), room - drawn)
        drawn += cells
        yield (glyph * cells, style)
    yield ("░" * (room - drawn), QUIET)


def _named(shares: Sequence[tuple[str, float]], known: bool) -> Iterator[list[Styled]]:
    whole = percents(share for _, share in shares)
    for (glyph, style), (name, _), share in zip(_SHADES, shares, whole, strict=False):
        yield [(glyph, style), (f" {name} ", QUIET), f"{share}".ljust(4) if known else "–   "]


def _sources(view: TurnView) -> list[Styled]:
    if not view.sources:
        return [("none yet" if not view.final else "none", QUIET)]
    whole = percents(share for _, share in view.sources)
    return ["  ".join(f"{clean_line(name)} {share:>3} %" for (name, _), share in zip(view.sources, whole, strict=True))]


def _lengths(view: TurnView, room: int) -> list[Styled]:
    """The current k, and k over the turn."""
    if not view.figures.num_rounds:
        return [("–", QUIET)]
    highest = max(view.k_most, 1)
    return [f"{view.k:<4}", (levels(columns(view.k_history, room - 4), highest), ACCEPTED)]


def _memory(use: MemoryUse | None, width: int) -> list[Row]:
    """The bytes of both models' weights, of their caches, and of compute buffers."""
    sizes = {
        "target": use.target_weights if use else None,
        "draft": use.draft_weights if use else None,
        "caches": (use.target_cache or 0) + (use.draft_cache or 0) if use else None,
        "work": use.compute if use else None,
    }
    whole = sum(size or 0 for size in sizes.values())
    scale, unit, decimals = (1e9, "GB", 1) if whole >= 1e9 else (1e6, "MB", 0)
    shares = [(name, (size or 0) / whole if whole else 0.0) for name, size in sizes.items()]
    legend: list[list[Styled]] = [
        [(glyph, style), (f"{name} ", QUIET), f"{size / scale:.{decimals}f} "]
        for (glyph, style), (name, size) in zip(_SHADES, sizes.items(), strict=True)
        if size
    ]
    total = f"{whole / scale:.{decimals}f} {unit}".ljust(9) if whole else "–".ljust(9)
    shaded = _shaded(shares, max(width - _LABEL, 12) - 9) if whole else ()
    return [
        Row([_label(Figure.MEMORY), total, *shaded], 5, Figure.MEMORY),
        *_flowing("", legend, width, 7, Figure.MEMORY),
    ]


_STYLES = {look.glyph: f"$outcome-{outcome.value}" for outcome, look in LOOKS.items() if look.glyph}


def words(ribbon: Sequence[str], width: int, rows: int) -> list[list[Styled]]:
    """The last rows of all rounds. Rows are filled from the left, so that words do not move."""
    lines: list[list[str]] = [[]]
    room = width
    for word in ribbon:
        shown = cut(word, width)
        if len(shown) > room:
            lines.append([])
            room = width
        lines[-1].append(shown)
        room -= len(shown) + 1
    return [_line(line) for line in lines[-rows:]]


def latest(ribbon: Sequence[str], width: int) -> list[Styled]:
    """As many of the latest rounds as fit into one row."""
    chosen: list[str] = []
    room = width
    for word in reversed(ribbon):
        shown = cut(word, width)
        if len(shown) > room:
            break
        chosen.insert(0, shown)
        room -= len(shown) + 1
    return _line(chosen)


def _line(shown: Sequence[str]) -> list[Styled]:
    return [part for word in shown for part in (*_coloured(word), " ")]


def _coloured(word: str) -> list[Styled]:
    return [("".join(run), _STYLES.get(glyph, QUIET)) for glyph, run in groupby(word)]
