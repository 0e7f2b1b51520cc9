"""The tokens that survive truncation at one position, with their log-probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CERTAIN: NDArray[np.float64] = np.zeros(1)
CERTAIN.flags.writeable = False


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """A distribution on a set of token ids: `ids` int64 [n], ascending, and `log_p` float64 [n], normalised."""

    ids: NDArray[np.int64]
    log_p: NDArray[np.float64]

    @classmethod
    def certain(cls, token: int) -> Candidates:
        """The point mass on one token."""
        return cls(np.array((token,)), CERTAIN)

    def probability(self, token: int) -> float:
        """The probability of a token; 0 where it did not survive."""
        if len(self.ids) == 1:
            return 1.0 if self.ids[0] == token else 0.0
        place = int(np.searchsorted(self.ids, token))
        if place == len(self.ids) or self.ids[place] != token:
            return 0.0
        return math.exp(self.log_p[place])

    def best(self, count: int) -> list[tuple[int, float]]:
        """The most probable tokens with their probabilities, best first, ties by id."""
        if len(self.ids) == 1:
            return [(int(self.ids[0]), 1.0)]
        order = np.argsort(-self.log_p, kind="stable")[:count]
        return [(int(self.ids[place]), math.exp(self.log_p[place])) for place in order]
