"""The stages that remove tokens from a row of logits: top-k, typical-p, top-p, min-p, and temperature 0.

A stage takes a pool of tokens and returns the pool that it keeps. No stage sorts the vocabulary. Most rows are decided
by a few tokens near the top, so `pools` yields ever larger pools: first the tokens near the largest logit, at last the
whole row. A pool counts the tokens that it leaves out and knows how large their logits can be. The stages use this to
decide whether those tokens could change the result; the first pool whose result is `settled` decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.params import SamplingParams

Allows = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Says which of some token ids [n] a grammar allows."""

_DEPTHS: Final = (8.0, 16.0)
"""How far below the largest logit, in nats, the pools reach before the whole row is taken."""

_SORTED: Final = 1024
"""At most this many keys are sorted."""

_BINS: Final = 1024

_LOWEST: Final = float(np.finfo(np.float32).min)
"""The smallest logit that a token can have and still be drawn."""

_MARGIN: Final = 1e-6
"""Pools reach deeper by this share of the numbers compared, more than float32 rounds a floor by."""

np.empty(2**20)
"""glibc gives freed memory back to the system beyond a limit that follows the largest block ever freed. This block of
8 MiB, never touched, raises the limit so that rows of a large vocabulary reuse their memory: 2 to 3 times as fast."""


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Tokens that may still be drawn: `ids` int64 [n], ascending, and their `logits` float64 [n], all finite.

    `unseen` further tokens may be in the running, each with a logit below `floor`. `doubt` is the largest logit among
    the tokens that top-p would remove if the unseen tokens had no mass, inf if a stage could not decide at all.
    """

    ids: NDArray[np.int64]
    logits: NDArray[np.float64]
    unseen: int = 0
    floor: float = -math.inf
    doubt: float = -math.inf

    @property
    def settled(self) -> bool:
        """Whether this is the result for the whole row, whatever the unseen tokens are."""
        if self.unseen or not len(self.ids):
            return False
        return self.doubt == -math.inf or float(self.logits.min()) > self.doubt

    def only(self, mask: NDArray[np.bool_], *, unseen: int = 0) -> Pool:
        """The tokens of a mask [n], with this many unseen ones."""
        if mask.all():
            return Pool(self.ids, self.logits, unseen, self.floor, self.doubt)
        return Pool(self.ids[mask], self.logits[mask], unseen, self.floor, self.doubt)


Stage = Callable[[Pool, SamplingParams], Pool]


class Pipeline:
    """The stages that some sampling parameters switch on."""

    __slots__ = ("_depths", "_params", "_stages")

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._depths = _depths(params)
        on = {
            "top-k": params.top_k > 0,
            "typical-p": params.typical_p < 1,
            "top-p": params.top_p < 1,
            "min-p": params.min_p > 0,
            "temperature": params.temperature == 0,
        }
        self._stages: Mapping[str, Stage] = {name: stage for name, stage in _STAGES.items() if on[name]}

    def leaves_only_best(self, logits: NDArray[np.float32], peak: float) -> bool:
        """Whether the token with the largest logit of a row [V], `peak`, is surely the only one left, as in most rows.

        It is at temperature 0, and if min-p removes all others. Otherwise only all stages can show it.
        """
        params = self._params
        if params.typical_p < 1 or params.temperature == 0:
            return params.typical_p == 1
        return params.min_p > 0 and np.count_nonzero(logits >= _floor(peak, -math.log(params.min_p))) == 1

    def pools(
        self, logits: NDArray[np.float32], peak: float, allows: Allows | None = None, *, whole: bool = False
    ) -> Iterator[Pool]:
        """Pools of a row [V] whose largest logit is `peak`, each larger than the one before.

        The row has no NaN. The last pool has all possible tokens.
        `allows` is the grammar's answer: tokens that it excludes are in no pool, and it is asked once about each id at
        most. With `whole`, the whole row is the only pool.
        """
        allowed = np.empty(0, np.int64)
        ceiling = math.inf
        for depth in (math.inf,) if whole else self._depths:
            floor = _floor(peak, depth)
            ids = (logits >= floor).nonzero()[0]
            if floor > _LOWEST and 2 * len(ids) > len(logits):
                floor = np.float32(_LOWEST)
                ids = (logits >= floor).nonzero()[0]
            unseen = len(logits) - len(ids) if floor > _LOWEST else 0
            if allows:
                fresh = ids[logits[ids] < ceiling]
                ids = allowed = np.sort(np.concatenate((allowed, fresh[allows(fresh)]))) if len(fresh) else allowed
            selected = logits if len(ids) == len(logits) else logits[ids]
            yield Pool(ids, selected.astype(np.float64), unseen, float(floor))
            if floor == _LOWEST:
                break
            ceiling = float(floor)

    def truncated(self, pool: Pool, removed: dict[str, NDArray[np.int64]] | None = None) -> Pool:
        """What all stages leave of a pool. `removed`, if given, receives the ids that each removed, by its name."""
        if removed is not None:
            removed |= dict.fromkeys(_STAGES, np.empty(0, np.int64))
        for name, stage in self._stages.items():
            remaining = stage(pool, self._params) if len(pool.ids) else pool
            if removed is not None:
                removed[name] = np.setdiff1d(pool.ids, remaining.ids, assume_unique=True)
            pool = remaining
        return pool


def _depths(params: SamplingParams) -> tuple[float, ...]:
    """How deep below the largest logit the pools of these parameters reach, in nats, ascending."""
    if params.typical_p < 1 and not params.top_k:
        return (math.inf,)
    own = [-math.log(params.min_p)] if params.min_p > 0 else []
    return (*sorted({*_DEPTHS, *own}), math.inf)


def _floor(peak: float, depth: float) -> np.float32:
    """The smallest logit of a pool that reaches this deep below the largest one."""
    return np.float32(max(peak - depth - _MARGIN * (abs(peak) + depth), _LOWEST))


def _top_k(pool: Pool, params: SamplingParams) -> Pool:
    """The k largest logits, ties by id."""
    count, k = len(pool.ids), params.top_k
    if count <= k:
        return Pool(pool.ids, pool.logits, min(pool.unseen, k - count), pool.floor, pool.doubt)
    return pool.only(_shortest_prefix(-pool.logits, np.ones(count), k))


def _typical_p(pool: Pool, params: SamplingParams) -> Pool:
    """The tokens whose surprise is closest to the entropy, until they have the wanted mass.

    Source: Meister et al., "Locally Typical Sampling", arXiv 2202.00666.
    """
    if pool.unseen:
        return replace(pool, doubt=math.inf)
    log_p = pool.logits - pool.logits.max()
    weights = np.exp(log_p)
    total = float(weights.sum())
    log_p -= math.log(total)
    weights /= total
    entropy = -float((weights * log_p).sum())
    return pool.only(_shortest_prefix(np.abs(log_p + entropy), weights, params.typical_p))


def _top_p(pool: Pool, params: SamplingParams) -> Pool:
    """The largest logits until they have the wanted share of the mass, ties by id.

    Unseen tokens can only raise the mass that has to be reached, so the result lies between two prefixes. The longer
    one is kept, and `doubt` says where they differ.
    """
    if len(pool.ids) == 1:
        return pool
    best = float(pool.logits.max())
    weights = np.exp(pool.logits - best)
    total = float(weights.sum())
    most = params.top_p * (total + pool.unseen * math.exp(pool.floor - best))
    longest = _shortest_prefix(-pool.logits, weights, most)
    if not pool.unseen:
        return pool.only(longest)
    doubtful = longest & ~_shortest_prefix(-pool.logits, weights, params.top_p * total)
    doubt = float(pool.logits[doubtful].max(initial=-math.inf))
    return replace(pool.only(longest, unseen=pool.unseen if most > total else 0), doubt=max(pool.doubt, doubt))


def _min_p(pool: Pool, params: SamplingParams) -> Pool:
    """The tokens that have at least this share of the best token's probability."""
    lowest = float(pool.logits.max()) + math.log(params.min_p)
    return pool.only(pool.logits >= lowest, unseen=0 if pool.floor <= lowest else pool.unseen)


def _temperature(pool: Pool, _params: SamplingParams) -> Pool:
    """At temperature 0 the best token alone, ties by id."""
    return pool.only(np.arange(len(pool.ids)) == pool.logits.argmax())


_STAGES: Final[Mapping[str, Stage]] = {
    "top-k": _top_k,
    "typical-p": _typical_p,
    "top-p": _top_p,
    "min-p": _min_p,
    "temperature": _temperature,
}
"""In the order of llama.cpp."""


def _shortest_prefix(keys: NDArray[np.float64], weights: NDArray[np.float64], bound: float) -> NDArray[np.bool_]:
    """The tokens with the smallest keys until their weights add up to `bound`, at least one; a mask [n].

    Ties go to the first place. Long arrays are put into bins by key; only the bin in which the sum reaches the bound
    is looked at more closely.
    """
    low = keys.min()
    span = keys.max() - low
    if span == 0:
        in_order: NDArray[np.bool_] = np.arange(len(keys)) <= weights.cumsum().searchsorted(bound)
        return in_order
    if len(keys) <= _SORTED:
        order = np.argsort(keys, kind="stable")
        length = int(weights[order].cumsum().searchsorted(bound)) + 1
        first = np.zeros(len(keys), np.bool_)
        first[order[:length]] = True
        return first
    bins = ((keys - low) * ((_BINS - 0.5) / span)).astype(np.intp)
    sums = np.bincount(bins, weights).cumsum()
    crossing = int(sums.searchsorted(bound))
    mask: NDArray[np.bool_] = bins < crossing
    inside = np.flatnonzero(bins == crossing)
    if len(inside):
        before = float(sums[crossing - 1]) if crossing else 0.0
        mask[inside] = _shortest_prefix(keys[inside], weights[inside], bound - before)
    return mask
