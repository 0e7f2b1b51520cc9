"""A notice where α falls against the pair's own record: by a test, so that chance alone seldom sounds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, lgamma
from typing import Any

from specchat.insight.summary import Figures

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

    def after(self, figures: Figures) -> AlphaRecord:
        """With one more turn; one that compared too little to have an α of its own changes nothing."""
        if figures.num_tested < TOKENS:
            return self
        return self + AlphaRecord(1, figures.num_accepted / figures.num_tested)

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

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time."""
        return {"turns": self.turns, "mean": self.mean, "squares": self.squares}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> AlphaRecord:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        record = cls(int(kept["turns"]), float(kept["mean"]), float(kept["squares"]))
        if record.turns < 0 or not 0 <= record.mean <= 1 or not 0 <= record.squares <= max(record.turns, 1):
            raise ValueError("this is no record of α")
        return record


def fallen_alpha(figures: Figures, record: AlphaRecord) -> str | None:
    """The notice after a turn whose α is below what this pair's record allows, None where it is not.

    The count of accepted tokens is tested against a beta-binomial law: the α of a turn varies about the record's mean
    as much as turns did (and the mean itself by a share of that), the tokens within a turn by chance.
    """
    tested, accepted = figures.num_tested, figures.num_accepted
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
