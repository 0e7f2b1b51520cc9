"""How long a draft should be, and when to end it early.

Some drafters report a confidence after each token. The product of the acceptance probabilities so far is the
probability that the target accepts the whole draft: its reach. Drafting goes on while the tokens that it may still add
are worth more than the time they take.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul


@dataclass(frozen=True, slots=True)
class Option:
    """A possible round: `k` drafted tokens, with the expected number of emitted tokens and of milliseconds."""

    k: int
    tokens: float
    milliseconds: float

    @property
    def rate(self) -> float:
        """Expected tokens per millisecond."""
        return self.tokens / self.milliseconds


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Ends drafts: drafting continues after token i while the reach is at least `bounds[i]`.

    A token with a confidence of class c is accepted with probability `p_accept[c]`.
    """

    bounds: Sequence[float]
    p_accept: Sequence[float]
    classify: Callable[[float], int]

    def begin(self) -> Callable[[float], bool]:
        """Starts one draft. The result takes each token's confidence in turn; True if another token is worth it."""
        reach, bounds = 1.0, iter(self.bounds)

        def worth_more(confidence: float) -> bool:
            nonlocal reach
            reach *= self.p_accept[self.classify(confidence)]
            return reach >= next(bounds, math.inf)

        return worth_more


def best_length(p_accept: Sequence[float], costs: Sequence[float], lengths: range, pace: float) -> Option:
    """The best of some lengths for a draft that does not end early: the one with the largest tokens - pace x time.

    `p_accept[i]` is the probability that token i is accepted if those before it are. `costs[n]` is the milliseconds of
    a round with n drafted tokens. `pace` is the speed to beat, in tokens per millisecond.
    """
    tokens = list(accumulate(accumulate(p_accept, mul), initial=1.0))
    k = max(lengths, key=lambda length: tokens[length] - pace * costs[length])
    return Option(k, tokens[k], costs[k])


def stop_bounds(p_accept: float, costs: Sequence[float], pace: float) -> tuple[float, ...]:
    """The reach from which on drafting pays after 1, 2, … tokens, up to the length at which it never does.

    `p_accept` is the probability that a further token is accepted if those before it are; `costs` and `pace` are as in
    `best_length`. With a reach of 1, m further tokens add p + p² + … + pᵐ tokens and take the time between two costs.
    They pay from the reach on at which both are worth the same. Of all m the best one decides, since a dear token can
    be followed by cheap ones.
    """
    longest = len(costs) - 1
    added = list(accumulate(p_accept**ahead for ahead in range(1, longest)))
    bounds = []
    for drafted in range(1, longest):
        extra = (cost - costs[drafted] for cost in costs[drafted + 1 :])
        bound = min(pace * time / tokens for time, tokens in zip(extra, added, strict=False))
        if bound > 1:
            break
        bounds.append(bound)
    return tuple(bounds)
