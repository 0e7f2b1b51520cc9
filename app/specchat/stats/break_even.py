"""The break-even gauge: the α that drafts of a length need to pay off on this machine, and the α they have."""

from __future__ import annotations

from typing import NamedTuple

from specchat.stats.curve import CostCurve, curve_of
from specchat.stats.summary import Figures
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import break_even_alpha, predicted_speedup
from specchat_engine.decoding.costs import MeasuredCosts


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
