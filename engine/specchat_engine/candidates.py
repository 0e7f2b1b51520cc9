"""The tokens that survive truncation at one position, with their log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


class Candidates:
    """A distribution on a set of token ids: `ids` int64 [n], ascending, and `log_p` float64 [n], normalised.

    Few ids are held as a `table` instead, id to log-probability in the same order, and become arrays only where they
    are asked for: right behind a pass over the weights the caches are cold, and every array operation costs some
    microseconds. `only` is the id of a point mass, else None.
    """

    __slots__ = ("_ids", "_log_p", "only", "table")

    def __init__(self, ids: NDArray[np.int64], log_p: NDArray[np.float64]) -> None:
        """Takes both arrays as they are."""
        self._ids: NDArray[np.int64] | None = ids
        self._log_p: NDArray[np.float64] | None = log_p
        self.table: Mapping[int, float] | None = None
        self.only = int(ids[0]) if len(ids) == 1 else None

    @classmethod
    def of(cls, table: Mapping[int, float]) -> Candidates:
        """A distribution from its table, whose ids ascend."""
        made = cls.__new__(cls)
        made._ids = made._log_p = None
        made.table = table
        made.only = next(iter(table)) if len(table) == 1 else None
        return made

    @classmethod
    def certain(cls, token: int) -> Candidates:
        """The point mass on one token."""
        made = cls.__new__(cls)
        made._ids = made._log_p = made.table = None
        made.only = token
        return made

    def among(self, ids: NDArray[np.int64]) -> Candidates:
        """The same distribution, each id having been a place in `ids`, which ascend."""
        if self.only is not None:
            return Candidates.certain(int(ids[self.only]))
        if self.table is not None:
            return Candidates.of({int(ids[place]): log_p for place, log_p in self.table.items()})
        return Candidates(ids[self.ids], self.log_p)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The tokens, ascending."""
        if self._ids is None:
            self._ids = np.array([*self._items()], np.int64)
        return self._ids

    @property
    def log_p(self) -> NDArray[np.float64]:
        """Their log-probabilities."""
        if self._log_p is None:
            self._log_p = np.array([*self._items().values()], np.float64)
        return self._log_p

    def probability(self, token: int) -> float:
        """The probability of a token; 0 where it did not survive."""
        if self.only is not None:
            return float(token == self.only)
        if self.table is not None:
            log_p = self.table.get(token)
            return 0.0 if log_p is None else math.exp(log_p)
        place = int(np.searchsorted(self.ids, token))
        if place == len(self.ids) or self.ids[place] != token:
            return 0.0
        return math.exp(self.log_p[place])

    def best(self, count: int) -> list[tuple[int, float]]:
        """The most probable tokens with their probabilities, best first, ties by id."""
        if self.only is not None:
            return [(self.only, 1.0)]
        if self.table is not None:
            ranked = sorted(self.table.items(), key=lambda item: -item[1])[:count]
            return [(token, math.exp(log_p)) for token, log_p in ranked]
        order = np.argsort(-self.log_p, kind="stable")[:count]
        return [(int(self.ids[place]), math.exp(self.log_p[place])) for place in order]

    def _items(self) -> Mapping[int, float]:
        """Few tokens as a table; a point mass holds none of its own."""
        if self.table is not None:
            return self.table
        assert self.only is not None
        return {self.only: 0.0}
