"""What passes cost at any width, and the break-even gauge: the α that drafts of a length need to pay off."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from statistics import median
from typing import NamedTuple

from specchat.stats.summary import Figures
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import break_even_alpha, predicted_speedup
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import BY_MODEL, Round

_OFTEN, _SOME = 8, 3


class Basis(IntEnum):
    """How a value was found, the most reliable way first."""

    MEASURED = 0
    INTERPOLATED = 1
    EXTRAPOLATED = 2


class CostCurve(NamedTuple):
    """The milliseconds of target passes: measured `points` (width, ms), ascending, with straight lines between them.

    Beyond the measured widths the slope of the last line continues; there a wider pass is never cheaper. Create one
    with `curve_of`, which checks that enough was measured.
    """

    points: tuple[tuple[int, float], ...]

    def at(self, width: int) -> float:
        """The expected milliseconds of a pass over `width` tokens."""
        place = min(max(bisect_left([known for known, _ in self.points], width), 1), len(self.points) - 1)
        (left, low), (right, high) = self.points[place - 1], self.points[place]
        slope = (high - low) / (right - left)
        if width > right:
            return high + max(slope, 0.0) * (width - right)
        if width < left:
            return max(low - max(slope, 0.0) * (left - width), low * width / left)
        return low + slope * (width - left)

    def basis(self, width: int) -> Basis:
        """How that value was found."""
        widths = [known for known, _ in self.points]
        if width in widths:
            return Basis.MEASURED
        return Basis.INTERPOLATED if widths[0] < width < widths[-1] else Basis.EXTRAPOLATED


def curve_of(costs: MeasuredCosts) -> CostCurve | None:
    """The curve through the measured widths; None if there are fewer than two."""
    points = tuple((width, ms) for width, ms in costs.verify if ms > 0)
    return CostCurve(points) if len(points) > 1 else None


def costs_of(rounds: Iterable[Round], plain_ms: float | None = None) -> MeasuredCosts:
    """The costs measured in rounds, for traces that did not record costs: medians by width.

    `plain_ms` is C(1) if it is known from elsewhere. The first round of an answer, which is often slower, is left out.
    """
    by_width, steps = _passes(rounds)
    verify = {width: median(times) for width, times in by_width.items()} | ({1: plain_ms} if plain_ms else {})
    return MeasuredCosts(tuple(sorted(verify.items())), median(steps) if steps else None)


def fitted(record: MeasuredCosts, rounds: Iterable[Round]) -> MeasuredCosts:
    """Recorded costs, scaled to the speed of a turn by the turn's own passes.

    A machine that slows down slows all widths alike, so the curve keeps its shape and is scaled. A width with at least
    eight passes in the turn takes its value from there; a width that the record lacks needs only three.
    """
    by_width, steps = _passes(rounds)
    known = dict(record.verify)
    ratios = [ms / known[width] for width, times in by_width.items() if known.get(width) for ms in times]
    level = median(ratios) if len(ratios) >= _OFTEN else 1.0
    verify = {width: ms * level for width, ms in known.items()}
    for width, times in by_width.items():
        if len(times) >= (_OFTEN if width in known else _SOME):
            verify[width] = median(times)
    few = len(steps) < (_SOME if record.draft_step is None else _OFTEN)
    return MeasuredCosts(tuple(sorted(verify.items())), record.draft_step if few else median(steps))


def _passes(rounds: Iterable[Round]) -> tuple[dict[int, list[float]], list[float]]:
    """The times of target passes by width and of draft steps, without the first round."""
    by_width: dict[int, list[float]] = {}
    steps: list[float] = []
    for event in rounds:
        if event.index == 0:
            continue
        by_width.setdefault(len(event.drafted) + 1, []).append(event.ms.verify)
        if event.source in BY_MODEL and event.drafted:
            steps.append(event.ms.draft / len(event.drafted))
    return by_width, steps


class BreakEven(NamedTuple):
    """`needed` is the α at which drafts of k tokens are as fast as none, or None if no α suffices; `has` is the α.

    `speedup` is the prediction S = E(α, k) / (C(k+1)/C(1) + k·c). The rest of a round counts on both sides.
    """

    k: int
    needed: float | None
    has: float
    speedup: float
    draft_cost: float
    relative_cost: float

    @property
    def pays(self) -> bool:
        """True if drafts are faster than none."""
        return self.speedup > 1

    def sentence(self) -> str:
        """The gauge in words: `needs α 0.61 at k = 6, has 0.48: costs 12 %`."""
        if self.needed is None:
            times = self.relative_cost + self.k * self.draft_cost
            return (
                f"no α pays off at k = {self.k}: it takes {times:.1f} × a plain round for at most {self.k + 1} tokens"
            )
        change = self.speedup - 1
        verdict = f"gains {per_cent(change)}" if change > 0 else f"costs {per_cent(-change)}"
        if abs(change) < 0.005:
            verdict = "as fast as plain"
        return f"needs α {self.needed:.2f} at k = {self.k}, has {self.has:.2f}: {verdict}"


def break_even(figures: Figures, costs: MeasuredCosts, k: int | None = None) -> BreakEven | None:
    """The gauge for drafts of k tokens, by default of the average length.

    None if nothing was compared or too few costs were measured.
    """
    curve, alpha = curve_of(costs), figures.alpha
    if curve is None or alpha is None or not figures.num_rounds:
        return None
    length = max(1, round(figures.mean_draft)) if k is None else k
    between_ms = (figures.other_ms + figures.rollback_ms) / figures.num_rounds
    draft_step = figures.draft_ms / figures.num_draft_tokens if costs.draft_step is None else costs.draft_step
    return gauge(alpha, length, curve, draft_step if figures.draft_ms else 0.0, between_ms)


def gauge(alpha: float, k: int, curve: CostCurve, step_ms: float, between_ms: float) -> BreakEven:
    """The gauge from its parts. Times are in milliseconds; k is at least 1."""
    plain_ms = curve.at(1) + between_ms
    c, relative_cost = step_ms / plain_ms, (curve.at(k + 1) + between_ms) / plain_ms
    return BreakEven(
        k=k,
        needed=break_even_alpha(k, c, relative_cost),
        has=alpha,
        speedup=predicted_speedup(alpha, k, c, relative_cost),
        draft_cost=c,
        relative_cost=relative_cost,
    )
