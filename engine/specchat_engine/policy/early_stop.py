"""How long a draft should be, and when to end it early.

Some drafters report a confidence after each token. The product of the acceptance probabilities so far is the
probability that the target accepts the whole draft: its reach. Drafting goes on while what it may still add is worth
more than the time it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import mul

import numpy as np

_STEP, _STEPS = 0.92, 40
"""Reaches are computed on a grid: 1, 0.92, 0.92², … down to 0.039."""

_REACHES = np.power(_STEP, np.arange(_STEPS))


@dataclass(frozen=True, slots=True)
class Option:
    """A possible round: at most `k` drafted tokens, with the expected number of emitted tokens and of milliseconds.

    A draft that ends early goes on after token i while the reach is at least `bounds[i]`.
    """

    k: int
    tokens: float
    milliseconds: float
    bounds: tuple[float, ...] = ()

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


def expected_tokens_by_length(p_accept: Sequence[float]) -> list[float]:
    """Returns the tokens that rounds with 0, 1, 2, … drafted tokens are expected to emit.

    `p_accept[i]` is the probability that token i is accepted if those before it are.
    """
    return list(accumulate(accumulate(p_accept, mul), initial=1.0))


def best_length(p_accept: Sequence[float], round_ms: Sequence[float], lengths: range, pace: float) -> Option:
    """Returns the best of some lengths for a draft that does not end early: with the largest tokens - pace x time.

    `round_ms[n]` is the milliseconds of a round with n drafted tokens. `pace` is the speed to beat, in tokens per
    millisecond.
    """
    tokens = expected_tokens_by_length(p_accept)
    k = max(lengths, key=lambda length: tokens[length] - pace * round_ms[length])
    return Option(k, tokens[k], round_ms[k])


@lru_cache(512)
def best_stopping(
    p_accept: tuple[float, ...], frequency: tuple[float, ...], round_ms: tuple[float, ...], pace: float
) -> Option:
    """Returns the best draft that ends early, by dynamic programming from its longest length back to its first token.

    A drafted token has a confidence of class c with probability `frequency[c]`, and is accepted with `p_accept[c]`.
    After each token the draft goes on if the tokens that it may still add are worth more than `pace` x their time. The
    last results are kept, so arguments should be rounded.
    """
    most = len(round_ms) - 1
    often = np.array(frequency) / sum(frequency)
    lower = np.rint(np.log(p_accept) / math.log(_STEP)).astype(np.int64)
    after = np.minimum(np.arange(_STEPS)[:, None] + lower, _STEPS - 1)
    chance = np.zeros((_STEPS, _STEPS))
    np.add.at(chance, (np.arange(_STEPS)[:, None], after), often)
    gained = float(often @ np.array(p_accept)) * _REACHES
    tokens = milliseconds = np.zeros(_STEPS)
    bounds: list[float] = []
    for drafted in range(most - 1, -1, -1):
        tokens = gained + chance @ tokens
        milliseconds = round_ms[drafted + 1] - round_ms[drafted] + chance @ milliseconds
        if drafted:
            worth = tokens > pace * milliseconds
            tokens, milliseconds = tokens * worth, milliseconds * worth
            bounds.append(float(_REACHES[worth][-1]) if worth[0] else math.inf)
    bounds.reverse()
    ends = next((index for index, bound in enumerate(bounds) if bound > 1), len(bounds))
    return Option(ends + 1, 1 + float(tokens[0]), round_ms[0] + float(milliseconds[0]), tuple(bounds[:ends]))


def fastest(option_at: Callable[[float], Option], pace: float) -> Option:
    """Returns the option with the best rate, or the one that loses least if none beats the pace.

    `option_at` returns the option with the largest tokens - pace x time. The ratio tokens / time is largest where that
    difference is 0 at its largest. Source: Dinkelbach, "On Nonlinear Fractional Programming", 1967.
    """
    option = option_at(pace)
    while option.rate > pace * 1.001:
        pace, option = option.rate, option_at(option.rate)
    return option
