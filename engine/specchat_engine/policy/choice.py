"""The draft that gives most: expected tokens against expected time, for every length and both sources.

At a pace of ρ tokens a millisecond, a round of N expected tokens in T milliseconds is worth N − ρ T tokens more than
the same time spent as usual. The largest value wins. Where one way of drafting is open all the time, ρ is its own
tokens a millisecond, and the rule is the same as taking the highest ratio N / T (renewal reward); where chances come
and go, as matches of prompt lookup do, the ratio alone stops a good draft too early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Option:
    """A round that could be made: at most `k` drafted tokens, the tokens and the milliseconds to expect of it."""

    k: int
    tokens: float
    milliseconds: float

    @property
    def rate(self) -> float:
        """Tokens a millisecond."""
        return self.tokens / self.milliseconds

    def value(self, pace: float) -> float:
        """The tokens that this round gives beyond those of the same time at `pace` tokens a millisecond."""
        return self.tokens - pace * self.milliseconds


def best_option(
    stands: Sequence[float],
    drafted: Sequence[float],
    verify_ms: Sequence[float],
    draft_ms: float,
    first_ms: float,
    pace: float,
    lengths: range,
) -> Option:
    """The length with the largest value.

    `stands[i]` is the probability that token i stands, given those before; `drafted[i]` that it is drafted, given
    those before; `verify_ms[w]` a target pass over w tokens, `draft_ms` one draft step, `first_ms` what the draft
    costs beyond its steps. Within `lengths`, a range of step 1, 1 ≤ k ≤ len(stands) and k + 1 < len(verify_ms).
    """
    reach = goes = tokens = 1.0
    now_ms, shortest = verify_ms[1], lengths.start
    milliseconds, most = now_ms + first_ms, -math.inf
    best: tuple[int, float, float] | None = None
    for k, stand, goes_on, then_ms in zip(range(1, lengths.stop), stands, drafted, verify_ms[2:], strict=False):
        reach *= stand
        goes *= goes_on
        tokens += reach
        milliseconds += goes * (then_ms - now_ms + draft_ms)
        now_ms = then_ms
        value = tokens - pace * milliseconds
        if value > most and k >= shortest:
            best, most = (k, tokens, milliseconds), value
    if best is None:
        raise ValueError(f"no lengths to choose from in {lengths}")
    return Option(*best)
