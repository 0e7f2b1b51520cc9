"""How far a drafter's drafts stand, position by position, estimated from rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.stats.summary import Figures
from specchat_engine.decoding.rounds import BY_MODEL, Round

_PRIOR = 2.0
"""How many comparisons the mean over all positions counts for at each of them."""

ENOUGH = 8
"""A position that was compared so often counts as measured."""


@dataclass(frozen=True, slots=True)
class Chain:
    """What one source's drafts do. Positions count from 0; discarded tokens were never compared and count nowhere.

    `accepted_at[i]` of `tested_at[i]` compared tokens stood. `reach[i]` is the share of rounds whose drafts get as far
    as position i where k allows it: 1 for a draft model, less for lookup, which may find no match or a short one.
    """

    source: str
    tested_at: tuple[int, ...]
    accepted_at: tuple[int, ...]
    reach: tuple[float, ...] = ()

    @property
    def num_tested(self) -> int:
        """Tokens that were compared."""
        return sum(self.tested_at)

    @property
    def alpha(self) -> float:
        """α over all positions; 0 where nothing was compared."""
        return sum(self.accepted_at) / self.num_tested if self.num_tested else 0.0

    def share(self, position: int) -> float:
        """The probability that the token at a position stands, given that those before it do: its own record, leaning
        on α the more, the less often it was compared."""
        tested = accepted = 0
        if position < len(self.tested_at):
            tested, accepted = self.tested_at[position], self.accepted_at[position]
        return (accepted + _PRIOR * self.alpha) / (tested + _PRIOR)

    def shares(self, k: int) -> list[float]:
        """Those of the first k positions."""
        return [self.share(position) for position in range(k)]

    def lengths(self, k: int) -> list[float]:
        """[k + 1]: the probabilities of drafts of 0 to k tokens under this k."""
        last = self.reach[-1] if self.reach else 1.0
        reach, low = [], 1.0
        for position in range(k):
            low = min(low, self.reach[position] if position < len(self.reach) else last)
            reach.append(low)
        return [here - there for here, there in zip([1.0, *reach], [*reach, 0.0], strict=True)]

    def measured(self, k: int) -> bool:
        """Whether the first k positions were all compared often enough."""
        return k == 0 or (k <= len(self.tested_at) and min(self.tested_at[:k]) >= ENOUGH)


def chain_of(rounds: Sequence[Round], source: str) -> Chain:
    """The record of one source in these rounds."""
    own = [event for event in rounds if event.source == source]
    figures = Figures.of(own)
    return Chain(source, figures.tested_at, figures.accepted_at, _reach(rounds) if source not in BY_MODEL else ())


def _reach(rounds: Sequence[Round]) -> tuple[float, ...]:
    """Of the rounds that allowed a token at a position, how many drafted one: a draft model's rounds do not count."""
    drafts = [(event.k, len(event.drafted)) for event in rounds if event.source not in BY_MODEL]
    found: list[float] = []
    for position in range(max((k for k, _ in drafts), default=0)):
        lengths = [length for k, length in drafts if k > position]
        found.append(sum(length > position for length in lengths) / len(lengths))
    return tuple(found)


def main_source(rounds: Sequence[Round]) -> str | None:
    """The source that drafted in most rounds; None where nothing was drafted."""
    sources = [event.source for event in rounds if event.drafted]
    return max(sorted(set(sources)), key=sources.count) if sources else None
