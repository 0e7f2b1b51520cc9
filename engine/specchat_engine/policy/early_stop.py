"""How long a draft should be, and where it ends early.

A drafter that tells its confidence in each token is asked again after every token: is another one worth its time? The
confidences so far say how likely the whole draft stands: its reach. Another token pays while the tokens it may lead to
are worth more than the time they take. That is an optimal stopping problem, and `best_stopped` solves it backwards from
the longest draft, for a few values of the reach, as if confidences came independently of each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_REACHES, _STEP = 32, 0.125
_REACH = np.exp(-_STEP * np.arange(_REACHES))
"""The values of the reach: each is an eighth less than the one before, from 1 down to 0.02."""

_DOWN = np.arange(_REACHES)[:, None] - np.arange(_REACHES)[None, :]
_DOWN = np.where(_DOWN < 0, _REACHES, _DOWN)
"""How many values of the reach lie between two of them; `_REACHES` stands for upwards, where a reach never goes."""


@dataclass(frozen=True, slots=True)
class Option:
    """A round that could be made: at most `k` drafted tokens, and the tokens and milliseconds to expect of it.

    `bounds[i]`: the draft goes on after token i while its reach is at least this. Empty where it never ends early.
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
    """Ends drafts by the `bounds` of an Option; a confidence of class c says that a token stands with `stands[c]`."""

    bounds: Sequence[float]
    stands: Sequence[float]
    classify: Callable[[float], int]

    def begin(self) -> Callable[[float], bool]:
        """For one draft: told the confidence of each token in turn, whether another token is worth drafting."""
        reach, bounds = 1.0, iter(self.bounds)

        def worth_more(confidence: float) -> bool:
            nonlocal reach
            reach *= self.stands[self.classify(confidence)]
            return reach >= next(bounds, math.inf)

        return worth_more


def best_length(stands: Sequence[float], costs: Sequence[float], lengths: range, pace: float) -> Option:
    """The best of some lengths for a draft that does not end early.

    `stands[i]` is the probability that token i stands if those before it do, `costs[n]` the milliseconds of a round
    with n drafted tokens. A token is worth its time if it takes less than tokens do at `pace`, in tokens a millisecond.
    """
    reach = tokens = 1.0
    options = []
    for k in range(1, lengths.stop):
        reach *= stands[k - 1]
        tokens += reach
        options.append(Option(k, tokens, costs[k]))
    return max(options[lengths.start - 1 :], key=lambda option: option.tokens - pace * option.milliseconds)


def best_stopped(stands: Sequence[float], frequency: Sequence[float], costs: Sequence[float], pace: float) -> Option:
    """The best draft of at most `len(costs) - 1` tokens that ends early where its confidence says so.

    A drafted token has a confidence of class c with probability `frequency[c]`, and stands with `stands[c]` then.
    `costs[n]` and `pace` are as in `best_length`.
    """
    shift = np.zeros(_REACHES + 1)  # by how many values the reach falls with one more token, and how likely
    for stand, often in zip(stands, frequency, strict=True):
        down = min(-math.log(max(stand, 1e-9)) / _STEP, _REACHES - 1.0)
        whole = min(int(down), _REACHES - 2)
        shift[whole] += often * (1 - down + whole)
        shift[whole + 1] += often * (down - whole)
    shift[_REACHES] = 0.0
    falls = shift[_DOWN]
    most = len(costs) - 1
    stands_next = sum(stand * often for stand, often in zip(stands, frequency, strict=True)) * _REACH
    tokens = milliseconds = np.zeros(_REACHES)  # to expect of further drafting, by the reach
    bounds: list[float] = []
    for drafted in range(most - 1, -1, -1):
        tokens = stands_next + tokens @ falls
        milliseconds = costs[drafted + 1] - costs[drafted] + milliseconds @ falls
        worth = tokens - pace * milliseconds
        pays = int(np.count_nonzero(worth > 0))
        if drafted:
            bounds.insert(0, _bound(worth.tolist(), pays))
            tokens[pays:] = milliseconds[pays:] = 0.0
    k = next((place for place, bound in enumerate(bounds, 1) if bound > 1), most)
    return Option(k, 1 + float(tokens[0]), costs[0] + float(milliseconds[0]), tuple(bounds[: k - 1]))


def _bound(worth: list[float], pays: int) -> float:
    """The reach at which another token stops paying, given its worth at each; infinite where it never pays."""
    if not pays:
        return math.inf
    if pays == _REACHES:
        return 0.0
    left, right = worth[pays - 1], worth[pays]
    return float(_REACH[pays - 1] - (_REACH[pays - 1] - _REACH[pays]) * left / (left - right))
