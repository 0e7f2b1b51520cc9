"""Top-k, top-p, min-p and temperature on one row of logits.

Each of the cuts keeps a prefix of the tokens ordered by logit, so the shortest prefix wins, and the vocabulary is never
sorted: the row is read once to see what lies near its maximum, and again, further down, only where that leaves a cut
open. Right behind a pass over the weights the caches are cold and every array operation costs some microseconds, so
that few tokens are weighed one by one; a comparison with an array of no dimension costs half of one with a number.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams

_PEELED = 3
"""So many of the best tokens are taken off a row one by one before all of it is compared with a floor."""

_FEW = 96
"""Up to so many tokens are sorted and weighed one by one."""

_OPEN = 0.06
"""What the unseen tokens may weigh together at the first look, in units of the best one."""

_DEEPER = (10.0, 26.0, math.inf)
"""How far below the peak, in nats, the further looks go."""

_ROUNDING = 1e-6
"""A look goes that much deeper, relative to what it compares, since float32 rounds its floor."""


class Truncation:
    """The cuts of some sampling parameters. Neither typical-p nor what changes single logits is looked at."""

    __slots__ = ("_beyond_doubt", "_bottom", "_depth", "_temperature", "_top_k", "_top_p")

    def __init__(self, params: SamplingParams) -> None:
        self._depth = -math.log(params.min_p) if params.min_p > 0 else math.inf
        self._top_k = params.top_k
        self._top_p = params.top_p
        self._temperature = params.temperature
        self._bottom = np.zeros((), np.float32)
        self._beyond_doubt = [_least_last(count, params.top_p) for count in range(_PEELED + 1)]

    def of(self, logits: NDArray[np.float32], token: int, peak: float) -> Candidates:
        """The distribution that is left of a row [V] with its maximum at `token`, at a temperature above 0.

        The row is changed while this runs, and as it was afterwards.
        """
        lowest = peak - self._depth
        if lowest > -math.inf:
            logits[token] = -math.inf
            rival = int(logits.argmax())
            value = logits.item(rival)
            if value < lowest:
                logits[token] = peak
                return Candidates.certain(token, peak - value)
            best = self._best(logits, token, peak, rival, value)
            if best:
                return Candidates.of(best, self._temperature)
        return self._of_row(logits, peak)

    def _best(self, logits: NDArray[np.float32], token: int, peak: float, rival: int, value: float) -> dict[int, float]:
        """What is left of a row, best first, where min-p leaves few and the weights of these tell that top-p takes
        none of them; else nothing. The best token has been taken off; the `rival` with its `value` is the second."""
        best, last, lowest = {token: peak}, peak, peak - self._depth
        while value >= lowest and len(best) < _PEELED:
            best[rival] = last = value
            logits[rival] = -math.inf
            rival = int(logits.argmax())
            value = logits.item(rival)
        for token, own in best.items():
            logits[token] = own
        if value >= lowest or 0 < self._top_k < len(best):
            return {}
        if last - peak > self._beyond_doubt[len(best)]:
            return best
        weights = [math.exp(value - peak) for value in best.values()]
        mass = sum(weights)
        return best if mass - weights[-1] < self._top_p * mass else {}

    def _of_row(self, logits: NDArray[np.float32], peak: float) -> Candidates:
        """The same by comparing all logits with a floor, or several."""
        size = len(logits)
        wanted = min(self._top_k or size, size)
        weighed = self._depth == math.inf or self._top_p < 1
        usual = math.log(wanted / _OPEN) if weighed else self._depth
        for floor in (usual, *(deeper for deeper in _DEEPER if deeper > usual)):
            self._bottom[()] = peak - floor - _ROUNDING * (abs(peak) + floor)
            ids = np.greater_equal(logits, self._bottom).nonzero()[0]
            values = logits.take(ids)
            if self._top_k and len(ids) > max(self._top_k, _FEW):
                ids, values = _largest(self._top_k, ids, values)
            open_mass = max(0, wanted - len(ids)) * math.exp(-floor)
            if len(ids) > _FEW:
                found = self._of_many(peak, ids, values.astype(np.float64), floor, open_mass)
            else:
                found = self._of_few(peak, ids, values.tolist(), floor, open_mass)
            if found is not None:
                break
        assert found is not None, "a look at the whole row leaves nothing open"
        return found

    def _of_few(
        self, peak: float, ids: NDArray[np.int64], values: Sequence[float], floor: float, open_mass: float
    ) -> Candidates | None:
        """The distribution told by the tokens above a floor, ids ascending; None where these leave it open."""
        ranked = sorted(values, reverse=True)
        if self._top_k:
            del ranked[self._top_k :]
        seen, count, lowest = len(ranked), 1, peak - self._depth
        while count < seen and ranked[count] >= lowest:
            count += 1
        weights = [*accumulate([math.exp(value - peak) for value in ranked])] if self._top_p < 1 else ()
        length = self._length(weights, seen, count, floor, open_mass)
        if length is None:
            return None
        last = ranked[length - 1]
        kept = {ids.item(place): value for place, value in enumerate(values) if value >= last}
        while len(kept) > length:
            del kept[max(token for token, value in kept.items() if value == last)]
        return Candidates.of(kept, self._temperature)

    def _of_many(
        self, peak: float, ids: NDArray[np.int64], values: NDArray[np.float64], floor: float, open_mass: float
    ) -> Candidates | None:
        """The same on arrays."""
        order = np.argsort(-values, kind="stable")[: self._top_k or None]
        count = int((values[order] >= peak - self._depth).sum())
        weights = np.exp(values[order] - peak).cumsum().tolist() if self._top_p < 1 else ()
        length = self._length(weights, len(order), count, floor, open_mass)
        if length is None:
            return None
        kept = np.sort(order[:length])
        return tempered(ids[kept], values[kept], self._temperature)

    def _length(self, weights: Sequence[float], seen: int, kept: int, floor: float, open_mass: float) -> int | None:
        more = floor < self._depth
        return settled_length(weights, self._top_p, seen=seen, kept=kept, more=more, open_mass=open_mass)


def first_at_least(weights: Sequence[float], bound: float) -> int:
    """The length of the shortest prefix whose cumulated weight reaches the bound, else all."""
    return min(bisect_left(weights, bound) + 1, len(weights))


def settled_length(
    weights: Sequence[float], top_p: float, *, seen: int, kept: int, more: bool, open_mass: float
) -> int | None:
    """How many of the best tokens min-p and top-p leave, None where that depends on tokens that were not looked at.

    Of the `seen` ones min-p keeps `kept`, and maybe `more` of the others, which weigh `open_mass` at most. `weights`
    are the cumulated ones of those that were seen, needed only where `top_p` is below 1.
    """
    least = most = kept
    if open_mass and more and kept == seen:
        most = seen + 1
    if top_p < 1:
        least = min(least, bisect_left(weights, top_p * weights[-1]) + 1)
        most = min(most, bisect_left(weights, top_p * (weights[-1] + open_mass)) + 1)
    return least if least == most else None


def _least_last(count: int, top_p: float) -> float:
    """Above how many nats, seen from the best, the last of so many tokens survives top-p whatever the others weigh.

    The others weigh less than the best does, each; what is not among them only makes room.
    """
    rest = (count - 1) * (1 - top_p) / top_p if top_p > 0 else math.inf
    return math.log(rest) if rest > 0 else -math.inf


def tempered(ids: NDArray[np.int64], values: NDArray[np.float64], temperature: float) -> Candidates:
    """All of these tokens, ids ascending, at a temperature above 0."""
    scaled = (values - values.max()) / temperature
    return Candidates(ids, scaled - math.log(np.exp(scaled).sum()))


def _largest(
    count: int, ids: NDArray[np.int64], values: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """The tokens with the `count` largest values and those that are equal to the last of them, in the same order."""
    near = values >= np.partition(values, len(values) - count)[len(values) - count]
    return ids[near], values[near]
