"""What a draft model has learned, as a page of text: whether it learns, α over recorded tokens, and each adoption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, floor
from pathlib import Path

from specchat.learning.alpha_history import AlphaEntry, joined
from specchat.learning.learned import Adoption, Learning, LearningHistory
from specchat.stats.charts import DOTTED, LABELS, SOLID, Line, Plot, Style, wrapped
from specchat.terminal.filter import clean_line

_WIDEST = 100
_EMPTY: Line = (("", Style.PLAIN),)
_NO_DRAFT = "There is no draft model that could learn: load one with /draft."
_OFF = "Turn it on with /learn on: answers are recorded, and the draft model learns from them while nobody waits."
_NO_CURVE = "α over recorded tokens is shown here after the next answer with a draft of this model."

ORIGINAL, LEARNED = "○", "●"
ADOPTED, UNDONE = "▲", "△"

_FEWEST = 100
"""A point stands for at least this many compared tokens: its standard error is 5 % at most."""

_NARROWEST = 30
_STEPS = (5, 10, 20)
_ROWS = 4, 7
"""The axis of α has a row for every step, in hundredths, and a number of rows in this range."""


def learned_page(learning: Learning, target: Path, draft: Path | None, width: int) -> list[Line]:
    """The page of one pair, at most `width` columns wide."""
    width = min(width, _WIDEST)
    if draft is None:
        return wrapped(_NO_DRAFT, width, Style.QUIET)
    history, is_on = learning.of(target, draft).history, learning.is_on
    lines = wrapped(f"Learning is {'on' if is_on else 'off'}: {history.summary()}.", width, Style.STRONG)
    if not is_on and not history.seen:
        return lines + wrapped(_OFF, width, Style.QUIET)
    curve = learned_lines(history, width)
    return [*lines, _EMPTY, *(curve or wrapped(_NO_CURVE, width, Style.QUIET))]


def learned_lines(history: LearningHistory, width: int) -> list[Line]:
    """α over recorded tokens, and a sentence for each adoption. Nothing before the first recorded answer."""
    width = min(width, _WIDEST)
    ordered = [(adoption, True) for adoption in history.in_force] + [(adoption, False) for adoption in history.undone]
    lines = learning_curve(history.alphas, {adoption.tokens: in_force for adoption, in_force in ordered}, width)
    adoptions = [line for adoption, in_force in ordered for line in _adoption(adoption, width, in_force=in_force)]
    return [*lines, *([_EMPTY] if lines and adoptions else []), *adoptions]


def _adoption(adoption: Adoption, width: int, *, in_force: bool) -> list[Line]:
    mark, undone = (ADOPTED, "") if in_force else (UNDONE, ", undone")
    sentence = (
        f"{mark} {adoption.file} after {adoption.tokens:,} tokens{undone}: "
        f"held-out α {adoption.before:.2f} → {adoption.after:.2f}"
    )
    return wrapped(sentence, width, Style.PLAIN if in_force else Style.QUIET, hang="  ")


def learning_curve(history: Sequence[AlphaEntry], adopted: Mapping[int, bool], width: int) -> list[Line]:
    """α over recorded tokens in at most `width` columns, the kind with the most compared tokens first.

    `adopted` has the recorded tokens at each adoption, and whether it is still in force. Without a history there are no
    lines.
    """
    if not history:
        return []
    width = max(width, _NARROWEST)
    columns = width - LABELS
    end = max(*(entry.tokens for entry in history), *adopted, 1)
    places = {round(tokens / end * (columns - 1)): in_force for tokens, in_force in sorted(adopted.items())}
    lines = _legend(adopted, width)
    for kind in _kinds(history):
        original, learned = _series(history, kind)
        low, high, height = _axis([_alpha(entry) for entry in (*original, *learned)])
        plot = Plot(columns, height, low, high)
        for column in places:
            plot.upright(column)
        _draw(plot, original, end, ORIGINAL, DOTTED, Style.PLAIN)
        _draw(plot, learned, end, LEARNED, SOLID, Style.ACCEPTED)
        lines += wrapped(_kind_line(kind, original, learned), width, Style.STRONG)
        lines += plot.lines({row: f"{plot.value(row):.2f}" for row in range(height)})
    return lines + _tokens(places, end, columns)


def _kinds(history: Sequence[AlphaEntry]) -> list[str]:
    tested: dict[str, int] = {}
    for entry in history:
        tested[entry.kind] = tested.get(entry.kind, 0) + entry.num_tested_tokens
    return sorted(tested, key=lambda kind: -tested[kind])


def _series(history: Sequence[AlphaEntry], kind: str) -> tuple[list[AlphaEntry], list[AlphaEntry]]:
    """The points of the draft as it was and of those that had learned."""
    mine = sorted((entry for entry in history if entry.kind == kind), key=lambda entry: entry.tokens)
    original = joined([entry for entry in mine if not entry.learned], _FEWEST)
    return original, joined([entry for entry in mine if entry.learned], _FEWEST)


def _alpha(entry: AlphaEntry) -> float:
    return entry.alpha or 0.0


def _axis(alphas: Sequence[float]) -> tuple[float, float, int]:
    """The lowest and highest value of the axis, and how many rows it has."""
    least, most = _ROWS
    for step in _STEPS:
        low, high = floor(100 * min(alphas) / step) * step, ceil(100 * max(alphas) / step) * step
        while (high - low) / step + 1 < least:
            low, high = (low - step, high) if high == 100 else (low, high + step)
        if (height := (high - low) // step + 1) <= most:
            break
    return low / 100, high / 100, height


def _draw(plot: Plot, points: Sequence[AlphaEntry], end: int, sign: str, line: str, style: Style) -> None:
    placed = [(round(point.tokens / end * (plot.columns - 1)), _alpha(point)) for point in points]
    for here, there in pairwise(placed):
        plot.line(here, there, line)
    for column, alpha in placed:
        plot.mark(column, alpha, sign, style)


def _kind_line(kind: str, original: Sequence[AlphaEntry], learned: Sequence[AlphaEntry]) -> str:
    """The kind, and the first and last α of each draft."""
    parts = []
    for sign, points in ((ORIGINAL, original), (LEARNED, learned)):
        if points:
            ends = [points[0], *points[1:][-1:]]
            parts.append(f"{sign} " + " → ".join(f"{_alpha(point):.2f}" for point in ends))
    return "  ".join((clean_line(kind) or "other", *parts))


def _tokens(places: Mapping[int, bool], end: int, columns: int) -> list[Line]:
    """The axis of recorded tokens, with a mark at each adoption."""
    signs = {column: ADOPTED if in_force else UNDONE for column, in_force in places.items()}
    axis = [(signs[column], Style.STRONG) if column in signs else (SOLID, Style.QUIET) for column in range(columns)]
    return [
        ((f"{'':>{LABELS - 1}}└", Style.QUIET), *axis),
        ((f"{'tokens':>{LABELS - 2}}  0{end:>{columns - 1},}", Style.QUIET),),
    ]


def _legend(adopted: Mapping[int, bool], width: int) -> list[Line]:
    signs = [f"{ORIGINAL} original draft", f"{LEARNED} learned"]
    signs += [f"{ADOPTED} adopted"] if any(adopted.values()) else []
    signs += [f"{UNDONE} undone"] if not all(adopted.values()) else []
    together = "   ".join(signs)
    return [((text, Style.QUIET),) for text in ([together] if len(together) <= width else signs)]
