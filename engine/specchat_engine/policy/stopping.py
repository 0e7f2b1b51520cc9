"""When to stop drafting: as soon as no further token is expected to be worth its time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat_engine.policy.acceptance import confidence_class

_DOUBLINGS = 3
"""A draft looks 1, 2, 4 and 8 tokens further before it ends, and as far as it may go: the first of them may cost much,
and the others little."""


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
    # Of each place: the tokens to expect of the next `ahead` ones, and the probability that all of these stand. The
    # double of it are as many and, where they all stand, as many again.
    tokens = reaches = stands[1:k]
    passes = [verify_ms[width] + width * step_ms for width in range(2, k + 2)]
    bounds, ahead = [math.inf] * (k - 1), 1
    for doubling in range(_DOUBLINGS + 1):
        if doubling:
            tokens = [near + reach * far for near, reach, far in zip(tokens, reaches, tokens[ahead:], strict=False)]
            reaches = [reach * far for reach, far in zip(reaches, reaches[ahead:], strict=False)]
            ahead *= 2
        for place, (expected, now, then) in enumerate(zip(tokens, passes, passes[ahead:], strict=False)):
            bound = pace * (then - now) / expected if expected else math.inf
            if bound < bounds[place]:
                bounds[place] = bound
    rest = 0.0  # the tokens to expect of all that may still be drafted
    for place in range(k - 2, -1, -1):
        rest = stands[place + 1] * (1 + rest)
        bound = pace * (passes[-1] - passes[place]) / rest if rest else math.inf
        if bound < bounds[place]:
            bounds[place] = bound
    return [*bounds, 1.0] if k else []
