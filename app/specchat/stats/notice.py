"""A notice where α falls against the pair's own record: by a test, so that chance alone seldom sounds it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, lgamma

CHANCE = 0.002
"""A turn of a pair that is as ever sounds a notice with no more than this probability."""

TURNS, TOKENS = 5, 24
"""A record needs so many turns, a turn so many compared tokens, before they are compared."""

_DROP = 0.05
"""A smaller fall is certain after a long answer, but nobody would feel it."""

_SPREAD, _SPREAD_TURNS, _LEAST_SPREAD = 0.08, 4, 0.03
"""How much texts differ in α before it was seen, how many turns that counts for, and what is never gone below."""


@dataclass(frozen=True, slots=True)
class AlphaRecord:
    """α over the turns of a pair, best on one kind of text: how many, their mean, their squared deviations' sum."""

    turns: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, turns: Iterable[tuple[int, int]]) -> AlphaRecord:
        """The record of turns that compared so many tokens and accepted so many of them.

        A turn that compared too few to have an α of its own does not count.
        """
        alphas = [cls(1, accepted / tested) for tested, accepted in turns if tested >= TOKENS]
        return sum(alphas, cls())

    def __add__(self, other: AlphaRecord) -> AlphaRecord:
        """Both together. Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm", 1979."""
        turns = self.turns + other.turns
        if not turns:
            return self
        apart = other.mean - self.mean
        return AlphaRecord(
            turns,
            self.mean + apart * other.turns / turns,
            self.squares + other.squares + apart * apart * self.turns * other.turns / turns,
        )

    @property
    def spread(self) -> float:
        """The standard deviation of a turn's α, the chance within the turns included: that errs towards silence."""
        variance = (self.squares + _SPREAD_TURNS * _SPREAD**2) / (max(self.turns - 1, 0) + _SPREAD_TURNS)
        return float(max(variance**0.5, _LEAST_SPREAD))


def fallen_alpha(tested: int, accepted: int, record: AlphaRecord) -> str | None:
    """The notice after a turn that accepted so few of the tokens that it compared, None where that may be chance.

    The count of accepted tokens is tested against a beta-binomial law: the α of a turn varies about the record's mean
    as much as turns did (and the mean itself by a share of that), the tokens within a turn by chance.
    """
    if record.turns < TURNS or tested < TOKENS or record.mean - accepted / tested < _DROP:
        return None
    if at_most(accepted, tested, record.mean, record.spread * (1 + 1 / record.turns) ** 0.5) > CHANCE:
        return None
    return (
        f"α {accepted / tested:.2f} in this answer; this pair's usual is {record.mean:.2f} "
        f"(over {record.turns} answers): more than chance explains"
    )


def at_most(hits: int, trials: int, mean: float, spread: float) -> float:
    """P[X ≤ hits] for a binomial count whose probability is itself drawn from a beta law of this mean and spread."""
    mean = min(max(mean, 1e-3), 1 - 1e-3)
    weight = max(mean * (1 - mean) / spread**2 - 1, 1e-3)
    a, b = mean * weight, (1 - mean) * weight
    base = lgamma(trials + 1) + lgamma(weight) - lgamma(a) - lgamma(b) - lgamma(trials + weight)
    return sum(
        exp(base + lgamma(x + a) - lgamma(x + 1) + lgamma(trials - x + b) - lgamma(trials - x + 1))
        for x in range(hits + 1)
    )
