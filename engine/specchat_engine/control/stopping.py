"""When to stop drafting: as soon as no further token is expected to be worth its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat_engine.control.acceptance import confidence_class

_AHEAD = (1, 2, 4, 8, 15)
"""So many tokens further a draft looks before it ends: the first of them may cost much, and those behind it little."""


@dataclass(slots=True)
class EarlyStop:
    """`bounds[i]`: a draft goes on behind its token i while all of it stands with a higher probability than that.

    `shares[c]` is the share of the tokens that are accepted, by the class of the drafter's confidence.
    """

    bounds: Sequence[float]
    shares: Sequence[float]

    def begin(self) -> Callable[[float], bool]:
        """For one draft: told the confidence of each token in turn, whether drafting another one pays."""
        reach, bounds = 1.0, iter(self.bounds)

        def worth_more(confidence: float) -> bool:
            nonlocal reach
            reach *= self.shares[confidence_class(confidence)]
            return reach > next(bounds, 1.0)

        return worth_more


def bounds_of(k: int, stands: Sequence[float], verify_ms: Sequence[float], step_ms: float, pace: float) -> list[float]:
    """The bounds of a draft of at most `k` tokens, of which token i stands with probability `stands[i]` if those before
    it do.

    `verify_ms[w]` is a target pass over w tokens, `step_ms` a draft step, `pace` what the time is worth, in tokens a
    millisecond. A bound of 1 is never reached.
    """
    bounds = []
    for drafted in range(1, k + 1):
        width, reach, tokens = drafted + 1, 1.0, 0.0
        costs = []
        for ahead, share in enumerate(stands[drafted : min(drafted + _AHEAD[-1], k)], 1):
            reach *= share
            tokens += reach
            if ahead in _AHEAD:
                milliseconds = ahead * step_ms + verify_ms[width + ahead] - verify_ms[width]
                costs.append(pace * milliseconds / max(tokens, 1e-9))
        bounds.append(min(costs, default=1.0))
    return bounds
