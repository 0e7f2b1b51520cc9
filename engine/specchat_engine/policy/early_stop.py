"""How long a draft should be, and when to end it early.

Some drafters report a confidence after each token. The product of the acceptance probabilities so far is the
probability that the target accepts the whole draft: its reach. Drafting goes on while the tokens it may still add are
worth more than the time they take. This is an optimal stopping problem. `best_stopped` solves it backwards from the
longest draft, for 32 levels of the reach, and assumes that confidences are independent of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_LEVELS, _LEVEL_STEP = 32, 0.125
_REACH = np.exp(-_LEVEL_STEP * np.arange(_LEVELS))
"""The levels of the reach, from 1 down to 0.02. Each is 0.88 times the one before."""

_FALLS = np.array([np.eye(_LEVELS, k=-levels) for levels in range(_LEVELS + 1)])
"""`_FALLS[n]` is the transition matrix that lowers the reach by n levels. Below the last level the reach is 0."""


@dataclass(frozen=True, slots=True)
class Option:
    """A possible round: at most `k` drafted tokens, with the expected number of emitted tokens and of milliseconds.

    Drafting continues after token i while the reach is at least `bounds[i]`. Without bounds it never ends early.
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
    """Ends drafts by the `bounds` of an Option. A token with a confidence of class c is accepted with `p_accept[c]`."""

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
    reach = tokens = 1.0
    options = []
    for k in range(1, lengths.stop):
        reach *= p_accept[k - 1]
        tokens += reach
        options.append(Option(k, tokens, costs[k]))
    return max(options[lengths.start - 1 :], key=lambda option: option.tokens - pace * option.milliseconds)


def best_stopped(p_accept: Sequence[float], frequency: Sequence[float], costs: Sequence[float], pace: float) -> Option:
    """The best draft of at most `len(costs) - 1` tokens whose bounds end it early.

    The confidence of a drafted token is of class c with probability `frequency[c]`. Such a token is accepted with
    probability `p_accept[c]`. `costs[n]` and `pace` are as in `best_length`.
    """
    falls = _transitions(p_accept, frequency)
    mean = sum(share * often for share, often in zip(p_accept, frequency, strict=True))
    next_token = mean * _REACH  # how many tokens the next drafted token adds, by the reach
    tokens = milliseconds = np.zeros(_LEVELS)  # what all further drafting adds, by the reach
    most = len(costs) - 1
    bounds: list[float] = []
    for drafted in range(most - 1, -1, -1):
        tokens = next_token + tokens @ falls
        milliseconds = costs[drafted + 1] - costs[drafted] + milliseconds @ falls
        if drafted:  # the first token is always drafted
            worth = tokens - pace * milliseconds
            goes_on = worth > 0
            bounds.insert(0, _bound(worth))
            tokens, milliseconds = tokens * goes_on, milliseconds * goes_on
    k = next((length for length, bound in enumerate(bounds, 1) if bound > 1), most)
    return Option(k, 1 + float(tokens[0]), costs[0] + float(milliseconds[0]), tuple(bounds[: k - 1]))


def _transitions(p_accept: Sequence[float], frequency: Sequence[float]) -> np.ndarray:
    """Entry [i, j] is the probability that one more token takes the reach from level j to level i.

    A fall between two whole numbers of levels is shared between them.
    """
    falls = np.zeros(_LEVELS + 1)
    for share, often in zip(p_accept, frequency, strict=True):
        levels = min(-math.log(max(share, 1e-9)) / _LEVEL_STEP, _LEVELS - 1.0)
        whole = int(levels)
        falls[whole] += often * (whole + 1 - levels)
        falls[whole + 1] += often * (levels - whole)
    return np.tensordot(falls, _FALLS, axes=1)


def _bound(worth: np.ndarray) -> float:
    """The reach at which the worth of drafting on is 0, interpolated; infinite if it is never worth it.

    `worth[i]` belongs to level i and falls with the reach.
    """
    paying = int(np.count_nonzero(worth > 0))
    if not paying:
        return math.inf
    if paying == _LEVELS:
        return 0.0
    return float(np.interp(0.0, worth[[paying, paying - 1]], _REACH[[paying, paying - 1]]))
