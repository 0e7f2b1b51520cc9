"""The tokens that survive truncation at one position, with their log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray


class Candidates:
    """A distribution on a set of token ids: `ids` int64 [n], ascending, and `log_p` float64 [n], normalised.

    Few ids are held as their `logits` at a `temperature` instead, in any order, which is all that a draw needs; they
    are normalised, and become arrays, only where somebody asks: right behind a pass over the weights the caches are
    cold, and all that is done costs several times as much. `only` is the id of a point mass, else None.
    """

    __slots__ = ("_ids", "_log_p", "_table", "logits", "only", "temperature")

    def __init__(self, ids: NDArray[np.int64], log_p: NDArray[np.float64]) -> None:
        """Takes both arrays as they are."""
        self._ids: NDArray[np.int64] | None = ids
        self._log_p: NDArray[np.float64] | None = log_p
        self._table: Mapping[int, float] | None = None
        self.logits: Mapping[int, float] | None = None
        self.temperature = 1.0
        self.only = int(ids[0]) if len(ids) == 1 else None

    @classmethod
    def of(cls, logits: Mapping[int, float], temperature: float) -> Candidates:
        """The distribution that is proportional to exp(logit / temperature), on one id at least."""
        made = cls.__new__(cls)
        made._ids = made._log_p = made._table = None
        made.logits, made.temperature = logits, temperature
        made.only = next(iter(logits)) if len(logits) == 1 else None
        return made

    @classmethod
    def certain(cls, token: int) -> Candidates:
        """The point mass on one token."""
        made = cls.__new__(cls)
        made._ids = made._log_p = made._table = made.logits = None
        made.only = token
        return made

    def among(self, ids: NDArray[np.int64]) -> Candidates:
        """The same distribution, each id having been a place in `ids`, which ascend."""
        if self.only is not None:
            return Candidates.certain(int(ids[self.only]))
        if self.logits is not None:
            return Candidates.of({int(ids[place]): logit for place, logit in self.logits.items()}, self.temperature)
        return Candidates(ids[self.ids], self.log_p)

    @property
    def ids(self) -> NDArray[np.int64]:
        """The tokens, ascending."""
        if self._ids is None:
            self._ids = np.array([*self._few()], np.int64)
        return self._ids

    @property
    def log_p(self) -> NDArray[np.float64]:
        """Their log-probabilities."""
        if self._log_p is None:
            self._log_p = np.array([*self._few().values()], np.float64)
        return self._log_p

    def probability(self, token: int) -> float:
        """The probability of a token; 0 where it did not survive."""
        if self.only is not None:
            return float(token == self.only)
        if self.logits is not None:
            log_p = self._few().get(token)
            return 0.0 if log_p is None else math.exp(log_p)
        place = int(np.searchsorted(self.ids, token))
        if place == len(self.ids) or self.ids[place] != token:
            return 0.0
        return math.exp(self.log_p[place])

    def best(self, count: int) -> list[tuple[int, float]]:
        """The most probable tokens with their probabilities, best first, ties by id."""
        if self.only is not None:
            return [(self.only, 1.0)]
        if self.logits is not None:
            ranked = sorted(self._few().items(), key=lambda item: -item[1])[:count]
            return [(token, math.exp(log_p)) for token, log_p in ranked]
        order = np.argsort(-self.log_p, kind="stable")[:count]
        return [(int(self.ids[place]), math.exp(self.log_p[place])) for place in order]

    def _few(self) -> Mapping[int, float]:
        """Few tokens with their log-probabilities, ids ascending."""
        if self.only is not None:
            return {self.only: 0.0}
        if self._table is None:
            assert self.logits is not None, "several tokens have arrays or logits"
            peak = max(self.logits.values())
            scaled = {token: (logit - peak) / self.temperature for token, logit in sorted(self.logits.items())}
            log_mass = math.log(math.fsum([math.exp(value) for value in scaled.values()]))
            self._table = {token: value - log_mass for token, value in scaled.items()}
        return self._table
