"""The break-even gauge: the α at which an answer's drafts would have been as fast as none, from its speed-up."""

from __future__ import annotations

from typing import NamedTuple

from specchat.stats.summary import Figures
from specchat.terminal.blocks import per_cent
from specchat_engine.analysis.theory import root

_ANY = 0.005
"""An α below this is shown as 0.00."""


class BreakEven(NamedTuple):
    """`needed` is the α at which the drafts are as fast as none, or None if no α suffices; `has` is the α.

    `speedup` is the answer's own, and `most` what it would be if every drafted token were accepted. So the gauge never
    contradicts the speed-up: `has` is above `needed` exactly if `speedup` is above 1.
    """

    needed: float | None
    has: float
    speedup: float
    most: float

    @property
    def pays(self) -> bool:
        """True if drafts are faster than none."""
        return self.speedup > 1

    def sentence(self) -> str:
        """The gauge in words: `needs α 0.61, has 0.48: costs 12 %`."""
        if self.needed is None:
            return f"no α pays off: {self.most:.2f} × plain if all were accepted"
        change = self.speedup - 1
        verdict = f"gains {per_cent(change)}" if change > 0 else f"costs {per_cent(-change)}"
        if abs(change) < 0.005:
            verdict = "as fast as plain"
        needs = f"needs α {self.needed:.2f}" if self.needed >= _ANY else "pays off at any α"
        return f"{needs}, has {self.has:.2f}: {verdict}"


def break_even(figures: Figures, speedup: float | None) -> BreakEven | None:
    """The gauge of these rounds, of which `speedup` was measured or is expected; None if nothing was compared.

    With another α the same rounds would take as long and emit other tokens: 1 + α + α² + … for each, up to the length
    of its draft.
    """
    alpha = figures.alpha
    if alpha is None or speedup is None:
        return None

    def speedup_at(other: float) -> float:
        return speedup * _tokens(figures, other) / _tokens(figures, alpha)

    most = speedup_at(1.0)
    needed = None if most < 1 else root(lambda other: speedup_at(other) - 1)
    return BreakEven(needed, alpha, speedup, most)


def _tokens(figures: Figures, alpha: float) -> float:
    """The tokens that these rounds would emit with this α."""
    return figures.num_rounds + sum(
        drafted * alpha**position for position, drafted in enumerate(figures.drafted_at, start=1)
    )
