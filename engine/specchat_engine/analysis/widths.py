"""How the number of tokens in a pass changes its logits, and how soon that changes a text.

A pass over several tokens uses other kernels than a pass over one, and quantised models round their activations to 8
bits in each layer: one changed bit grows to the whole noise of that rounding within some layers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from specchat_engine.models import SessionModel
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler

USUAL_LENGTH: Final = 200
"""The length of an answer, in tokens, for which the report says how many differ from plain decoding."""

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

    @classmethod
    def of(cls, rows: ReadBothWays, sampling: SamplingParams) -> Self:
        """Compares the rows; `sampling` decides how likely another token is."""
        singly, together = rows.singly, rows.together
        count = len(singly)
        if np.array_equal(singly, together):
            return cls(True, rows.width, count)
        change = np.where(singly == together, 0.0, together.astype(np.float64) - singly)
        before, after = _log_p(singly), _log_p(together)
        divergences = np.exp(before) * np.where(before == after, 0.0, before - after)
        return cls(
            False,
            rows.width,
            count,
            rms=float(np.sqrt(np.mean(change**2))),
            largest=float(np.abs(change).max()),
            divergence=float(divergences.sum(axis=1).mean()),
            parting=_parting(rows, sampling),
        )

    @classmethod
    def mean(cls, noises: Sequence[WidthNoise]) -> Self:
        """Several comparisons as one: the mean over their rows, and the largest difference of all."""
        rows = [each.rows for each in noises]
        return cls(
            all(each.equal for each in noises),
            max(each.width for each in noises),
            sum(rows),
            rms=float(np.sqrt(np.average([each.rms**2 for each in noises], weights=rows))),
            largest=max(each.largest for each in noises),
            divergence=float(np.average([each.divergence for each in noises], weights=rows)),
            parting=float(np.average([each.parting for each in noises], weights=rows)),
        )

    def parted(self, tokens: int = USUAL_LENGTH) -> float:
        """The share of answers of this length that differ from plain decoding."""
        return -math.expm1(tokens * math.log1p(-min(self.parting, 1 - 1e-12)))


@dataclass(frozen=True, slots=True, eq=False)
class ReadBothWays:
    """The logits [n, V] after each token of a text from `start` on, read one by one and `width` at a time."""

    text: Sequence[int]
    start: int
    width: int
    singly: NDArray[np.float32]
    together: NDArray[np.float32]


def read_both_ways(target: SessionModel, text: Sequence[int], start: int, width: int) -> ReadBothWays:
    """Reads a text twice. It is best an answer of the model, since other text is noisier. Raises DecodeError."""
    return ReadBothWays(text, start, width, _rows(target, text, start, 1), _rows(target, text, start, width))


def tie_width(quantisation: str) -> float:
    """How far apart log p + g of two tokens may be for another width of the pass to exchange them.

    On quantised weights logits were seen to differ by 0.1 (rms) to 0.7, on others by less than 0.02.
    """
    return 0.05 if quantisation in ("F32", "F16", "BF16") else 0.5


def widest_equal(target: SessionModel, vocabulary_size: int) -> int:
    """The most tokens, up to `WIDEST`, so that passes over as many or fewer give the bits of passes over one.

    Returns 1 if even passes over two tokens differ. The memory is empty afterwards. Raises DecodeError if llama.cpp
    fails.
    """
    shallow, deep = _DEPTHS
    limit = min(target.max_rows, WIDEST)
    tokens = [(index * 7919 + 13) % vocabulary_size for index in range(deep + WIDEST)]
    widest = 1
    with_rows = _Compared(target, tokens, shallow, limit)
    while widest < limit and with_rows.equal(widest + 1):
        widest += 1
    if widest > 1 and deep + WIDEST <= target.capacity:
        with_rows = _Compared(target, tokens, deep, limit)
        if not with_rows.equal(2):
            widest = 1
        while widest > 2 and not with_rows.equal(widest):
            widest -= 1
    target.clear()
    return widest


class _Compared:
    """The logits of passes over one token at one depth, to compare with those of wider passes."""

    def __init__(self, target: SessionModel, tokens: Sequence[int], depth: int, count: int) -> None:
        self._target, self._depth = target, depth
        self._tokens = tokens[depth : depth + max(count, _ROWS)]
        target.read(tokens[:depth], lambda: False)
        self._singly = [target.advance([token], 1)[0].copy() for token in self._tokens]

    def equal(self, width: int) -> bool:
        """Whether passes over this many tokens give the same bits."""
        self._target.rewind(self._depth)
        for begin in range(0, max(_ROWS // width, 1) * width, width):
            some = self._tokens[begin : begin + width]
            logits = self._target.advance(some, len(some))
            if not np.array_equal(logits, self._singly[begin : begin + len(some)]):
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


def _parting(rows: ReadBothWays, sampling: SamplingParams) -> float:
    """The mean probability that two rows of the same position lead to different tokens."""
    if sampling.temperature == 0:
        return _parting_greedily(rows.singly, rows.together)
    sampler = Sampler(sampling, 0)
    same = []
    for length, (single, together) in enumerate(zip(rows.singly, rows.together, strict=True), rows.start + 1):
        before = rows.text[:length]
        same.append(same_draw(sampler.candidates(single, before), sampler.candidates(together, before)))
    return 1 - float(np.mean(same))


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


def same_draw(candidates: Candidates, other: Candidates) -> float:
    """The probability that two distributions give the same token with the same Gumbel noise.

    That is the sum of 1 / Σ_y max(p(y) / p(x), q(y) / q(x)) over all x (Daliri, Musco, Suresh, arXiv 2408.07978).
    """
    ids = np.union1d(candidates.ids, other.ids)
    p, q = (_spread_out(each, ids) for each in (candidates, other))
    both = (p > 0) & (q > 0)
    ratio = np.divide(p, q, out=np.full(len(ids), np.inf), where=q > 0)
    # In the order of p / q, the larger of p(y) and q(y) · p(x) / q(x) is p(y) from x on and the other one before it.
    order = np.argsort(ratio)
    before = np.searchsorted(ratio[order], ratio[both])
    sums = (np.concatenate(([0.0], np.cumsum(each[order]))) for each in (p, q))
    p_before, q_before = (each[before] for each in sums)
    return float((p[both] / (p.sum() - p_before + ratio[both] * q_before)).sum())


def _spread_out(candidates: Candidates, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """The probabilities of these ids, 0 for those that are not candidates."""
    p = np.zeros(len(ids))
    p[np.searchsorted(ids, candidates.ids)] = np.exp(candidates.log_p)
    return p
