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
    cold, and all that is done costs several times as much. `only` is the id of a point mass, else None; `lead` is by
    how many nats its logit is above the next best one, None where nobody looked.
    """

    __slots__ = ("_ids", "_log_p", "_mass", "lead", "logits", "only", "temperature")

    def __init__(self, ids: NDArray[np.int64], log_p: NDArray[np.float64]) -> None:
        """Takes both arrays as they are."""
        self._ids: NDArray[np.int64] | None = ids
        self._log_p: NDArray[np.float64] | None = log_p
        self._mass: tuple[float, float] | None = None
        self.logits: Mapping[int, float] | None = None
        self.lead: float | None = None
        self.temperature = 1.0
        self.only = int(ids[0]) if len(ids) == 1 else None

    @classmethod
    def of(cls, logits: Mapping[int, float], temperature: float) -> Candidates:
        """The distribution that is proportional to exp(logit / temperature), on one id at least."""
        made = cls.__new__(cls)
        made._ids = made._log_p = made._mass = made.lead = None
        made.logits, made.temperature = logits, temperature
        made.only = next(iter(logits)) if len(logits) == 1 else None
        return made

    @classmethod
    def certain(cls, token: int, lead: float | None = None) -> Candidates:
        """The point mass on one token."""
        made = cls.__new__(cls)
        made._ids = made._log_p = made._mass = made.logits = None
        made.only, made.lead = token, lead
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
            self._ids = np.array([self.only] if self.logits is None else sorted(self.logits), np.int64)
        return self._ids

    @property
    def log_p(self) -> NDArray[np.float64]:
        """Their log-probabilities."""
        if self._log_p is None:
            logits = self.logits
            few = [0.0] if logits is None else [self._normalised(logits[token]) for token in sorted(logits)]
            self._log_p = np.array(few, np.float64)
        return self._log_p

    def probability(self, token: int) -> float:
        """The probability of a token; 0 where it did not survive."""
        if self.only is not None:
            return float(token == self.only)
        if self.logits is not None:
            logit = self.logits.get(token)
            return 0.0 if logit is None else math.exp(self._normalised(logit))
        place = int(np.searchsorted(self.ids, token))
        if place == len(self.ids) or self.ids[place] != token:
            return 0.0
        return math.exp(self.log_p[place])

    def best(self, count: int) -> list[tuple[int, float]]:
        """The most probable tokens with their probabilities, best first, ties by id."""
        if self.only is not None:
            return [(self.only, 1.0)]
        if self.logits is not None:
            ranked = sorted(self.logits.items(), key=lambda item: (-item[1], item[0]))[:count]
            return [(token, self.probability(token)) for token, _ in ranked]
        order = np.argsort(-self.log_p, kind="stable")[:count]
        return [(int(self.ids[place]), math.exp(self.log_p[place])) for place in order]

    def _normalised(self, logit: float) -> float:
        """The log-probability of one of few tokens."""
        if self._mass is None:
            assert self.logits is not None, "several tokens have arrays or logits"
            values, temperature = self.logits.values(), self.temperature
            peak = max(values)
            self._mass = peak, math.log(math.fsum([math.exp((value - peak) / temperature) for value in values]))
        peak, log_mass = self._mass
        return (logit - peak) / self.temperature - log_mass
