"""The tokens that survive truncation at one position, with their log-probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """A distribution on a set of token ids: `ids` int64 [n], ascending, and `log_p` float64 [n], normalised."""

    ids: NDArray[np.int64]
    log_p: NDArray[np.float64]

    @classmethod
    def certain(cls, token: int) -> Candidates:
        """The point mass on one token."""
        return cls(np.array([token], np.int64), np.zeros(1))

    @property
    def only(self) -> int | None:
        """The id of a point mass, else None."""
        return int(self.ids[0]) if len(self.ids) == 1 else None

    def probability(self, token: int) -> float:
        """The probability of a token; 0 for one that did not survive."""
        index = int(self.ids.searchsorted(token))
        if index == len(self.ids) or self.ids[index] != token:
            return 0.0
        return math.exp(self.log_p[index])

    def sharpened(self, power: float) -> Candidates:
        """The distribution proportional to a power of this one: above 1 it is surer of its best tokens."""
        if power == 1 or len(self.ids) == 1:
            return self
        log_p = power * (self.log_p - self.log_p.max())
        return Candidates(self.ids, log_p - math.log(float(np.exp(log_p).sum())))

    def best(self, count: int) -> list[tuple[int, float]]:
        """The most probable tokens with their probabilities, best first, ties by id."""
        ids, log_p = self.ids, self.log_p
        if len(ids) > count:
            near = log_p >= np.partition(log_p, len(log_p) - count)[len(log_p) - count]
            ids, log_p = ids[near], log_p[near]
        order = np.argsort(-log_p, kind="stable")[:count]
        return [(int(ids[index]), math.exp(log_p[index])) for index in order]
