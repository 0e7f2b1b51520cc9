"""How the number of tokens in a pass changes its logits, and how soon that changes a text.

A pass over several tokens uses other kernels than a pass over one, and quantised models round their activations to 8
bits in each layer: one changed bit grows to the whole noise of that rounding within some layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.models import SessionModel
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler

USUAL_LENGTH: Final = 200
"""The length of an answer, in tokens, for which it is told how many differ from plain decoding."""

WIDEST: Final = 16
"""The widest pass that `widest_equal` tries."""

_DEPTHS = (8, 250)
"""How many tokens the compared passes follow; the second ones cross the size at which the cache seen by a pass grows,
and at which flash attention begins to split it."""

_ROWS = 8
"""The fewest rows that are compared for each width."""


@dataclass(frozen=True, slots=True)
class WidthNoise:
    """How logits of passes over `width` tokens differ from those of passes over one token, in `rows` rows.

    `equal` says whether all bits are the same. `rms` and `largest` are differences of a logit, and `divergence` is the
    Kullback-Leibler divergence of the whole distributions, in nats per token. `parting` is the probability that a token
    of an answer becomes another one, with the same noise of the draw.
    """

    equal: bool
    width: int
    rows: int
    rms: float = 0.0
    largest: float = 0.0
    divergence: float = 0.0
    parting: float = 0.0

    def parted(self, tokens: int = USUAL_LENGTH) -> float:
        """The share of answers of this length that differ from plain decoding."""
        return -math.expm1(tokens * math.log1p(-min(self.parting, 1 - 1e-12)))


def width_noise(
    target: SessionModel, tokens: Sequence[int], start: int, width: int, sampling: SamplingParams
) -> WidthNoise:
    """Reads the tokens from `start` on one by one, then `width` at a time, and compares the logits.

    The tokens are best an answer of the model, since text that it would not write is noisier. Raises DecodeError if
    llama.cpp fails.
    """
    singly = _rows(target, tokens, start, 1)
    together = _rows(target, tokens, start, width)
    equal = bool(np.array_equal(singly.view(np.uint32), together.view(np.uint32)))
    if equal:
        return WidthNoise(True, width, len(singly))
    change = together.astype(np.float64) - singly
    before, after = (_log_p(rows) for rows in (singly, together))
    return WidthNoise(
        equal,
        width,
        len(singly),
        rms=float(np.sqrt(np.mean(change**2))),
        largest=float(np.abs(change).max()),
        divergence=float((np.exp(before) * (before - after)).sum(axis=1).mean()),
        parting=_parting(singly, together, tokens, start, sampling),
    )


def widest_equal(target: SessionModel, vocabulary_size: int) -> int:
    """The most tokens, up to `WIDEST`, so that passes over as many or fewer give the bits of passes over one.

    Returns 1 if even passes over two tokens differ. The memory is empty afterwards. Raises DecodeError if llama.cpp
    fails.
    """
    shallow, deep = _DEPTHS
    limit = min(target.max_rows, WIDEST)
    tokens = [(place * 7919 + 13) % vocabulary_size for place in range(deep + WIDEST)]
    found = 1
    with_rows = _Compared(target, tokens, shallow, limit)
    while found < limit and with_rows.equal(found + 1):
        found += 1
    if found > 1 and deep + limit <= target.capacity:
        with_rows = _Compared(target, tokens, deep, limit)
        if not with_rows.equal(2):
            found = 1
        while found > 2 and not with_rows.equal(found):
            found -= 1
    target.clear()
    return found


class _Compared:
    """The logits of passes over one token at one depth, to compare with those of wider passes."""

    def __init__(self, target: SessionModel, tokens: Sequence[int], depth: int, count: int) -> None:
        self._target, self._tokens, self._depth = target, tokens[depth : depth + count], depth
        target.read(tokens[:depth], lambda: False)
        self._singly = [target.advance([token], 1)[0].copy() for token in self._tokens]

    def equal(self, width: int) -> bool:
        """Whether passes over this many tokens give the same bits."""
        self._target.rewind(self._depth)
        for begin in range(0, max(_ROWS // width, 1) * width, width):
            some = self._tokens[begin : begin + width]
            found = self._target.advance(some, len(some))
            if not np.array_equal(found, self._singly[begin : begin + len(some)]):
                return False
        return True


def _rows(target: SessionModel, tokens: Sequence[int], start: int, width: int) -> NDArray[np.float32]:
    """The logits [n, V] after each token from `start` on."""
    target.clear()
    target.read(tokens[:start], lambda: False)
    passes = (tokens[first : first + width] for first in range(start, len(tokens), width))
    return np.concatenate([target.advance(some, len(some)).copy() for some in passes])


def _log_p(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Normalised log-probabilities."""
    shifted = rows.astype(np.float64) - rows.max(axis=1, keepdims=True)
    normalised: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return normalised


def _parting(
    singly: NDArray[np.float32],
    together: NDArray[np.float32],
    tokens: Sequence[int],
    start: int,
    sampling: SamplingParams,
) -> float:
    """The mean probability that two rows of the same place lead to different tokens."""
    if sampling.temperature == 0:
        return _parting_greedily(singly, together)
    sampler = Sampler(sampling, 0)
    pairs = []
    for place, rows in enumerate(zip(singly, together, strict=True)):
        before = tokens[: start + place + 1]
        one, other = (sampler.candidates(row, before) for row in rows)
        pairs.append(1 - same_draw(one, other))
    return float(np.mean(pairs))


def _parting_greedily(singly: NDArray[np.float32], together: NDArray[np.float32]) -> float:
    """The same for the likeliest tokens: how often normal noise of the measured size exceeds the lead of the first.

    Counting the rows in which it did would need thousands of them.
    """
    places = np.arange(len(singly))[:, None]
    best = np.argpartition(singly, -2, axis=1)[:, -2:]
    lead = np.abs(np.diff(singly[places, best].astype(np.float64), axis=1))
    change = np.diff((together - singly)[places, best].astype(np.float64), axis=1)
    spread = float(np.sqrt(np.mean(change**2)))
    if spread == 0:
        return 0.0
    return float(np.mean([math.erfc(each / (spread * math.sqrt(2))) / 2 for each in lead[:, 0]]))


def same_draw(one: Candidates, other: Candidates) -> float:
    """The probability that two distributions give the same token with the same Gumbel noise.

    That is the sum of 1 / Σ_y max(p(y) / p(x), q(y) / q(x)) over all x (Daliri, Musco, Suresh, arXiv 2408.07978).
    """
    ids = np.union1d(one.ids, other.ids)
    p, q = (_spread_out(each, ids) for each in (one, other))
    both = (p > 0) & (q > 0)
    ratios = np.maximum(p / p[both][:, None], q / q[both][:, None])
    return float((1 / ratios.sum(axis=1)).sum())


def _spread_out(candidates: Candidates, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probabilities of these ids, 0 for those that are no candidates."""
    p = np.zeros(len(ids))
    p[np.searchsorted(ids, candidates.ids)] = np.exp(candidates.log_p)
    return p
