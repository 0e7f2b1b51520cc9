"""The sampling stages and the draw, written a second time, so that the audit does not check the sampler with itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.noise import gumbel
from specchat_engine.sampling.params import SamplingParams

_DEPTH = 40.0
"""Tokens so many nats (times the temperature, if that is above 1) below the best have no weight in any sum."""


@dataclass(frozen=True, slots=True)
class Law:
    """The target's distribution at one position: `ids`, best first, with their `log_p`.

    `slack` is the smallest margin by which a stage kept or removed a token.
    """

    ids: NDArray[np.int64]
    log_p: NDArray[np.float64]
    slack: float

    def probability(self, token: int) -> float:
        """The probability of a token; 0 for one that was removed."""
        return float(np.exp(self.log_p[self.ids == token]).sum())

    def draw(self, seed: int, position: int) -> tuple[int, float]:
        """The token with the largest log p + g, and by how much it is the largest."""
        values = self.log_p + gumbel(seed, position, self.ids)
        order = np.argsort(-values, kind="stable")
        lead = float(values[order[0]] - values[order[1]]) if len(order) > 1 else math.inf
        return int(self.ids[order[0]]), lead

    def without(self, token: int) -> Law:
        """norm((p - q)+) for a q that is certain of this token; the law itself if nothing else is left."""
        others = self.ids != token
        left = float(np.exp(self.log_p[others]).sum())
        return Law(self.ids[others], self.log_p[others] - math.log(left), self.slack) if left > 0 else self


def law(logits: NDArray[np.float32], params: SamplingParams, before: Sequence[int]) -> Law:
    """Logit bias, penalties, top-k, typical-p, top-p, min-p, temperature, in this order; ties by id. No grammar."""
    values = _penalised(logits, params, before)
    lowest = values.max() - _DEPTH * max(1.0, params.temperature)
    if 0 < params.top_k < len(values):
        lowest = max(lowest, np.partition(values, -params.top_k)[-params.top_k])
    ids = np.flatnonzero(values >= lowest)
    ids = ids[np.argsort(-values[ids], kind="stable")]
    slack = math.inf
    if 0 < params.top_k < len(ids):
        ids = ids[: params.top_k]
    if params.typical_p < 1:
        p = _softmax(values[ids])
        surprise = np.abs(np.log(p) - (p * np.log(p)).sum())
        order = np.argsort(surprise, kind="stable")
        length, slack = _until(p[order], params.typical_p)
        if 0 < length < len(order):
            slack = min(slack, float(surprise[order[length]] - surprise[order[length - 1]]))
        ids = ids[np.sort(order[:length])]
    if params.top_p < 1:
        length, near = _until(_softmax(values[ids]), params.top_p)
        ids, slack = ids[:length], min(slack, near)
    if params.min_p > 0:
        above = values[ids] - values[ids[0]] - math.log(params.min_p)
        slack = min(slack, float(np.abs(above[1:]).min(initial=math.inf)))
        ids = ids[above >= 0]
    if params.temperature == 0:
        return Law(ids[:1], np.zeros(1), slack)
    scaled = (values[ids] - values[ids[0]]) / params.temperature
    return Law(ids, scaled - math.log(np.exp(scaled).sum()), slack)


def _penalised(logits: NDArray[np.float32], params: SamplingParams, before: Sequence[int]) -> NDArray[np.float64]:
    values = logits.astype(np.float64)
    for token, bias in params.logit_bias:
        values[token] = np.float32(np.float32(values[token]) + np.float32(bias))
    reach = params.penalty_last_n
    if params.penalises:
        for token, count in Counter(before[-reach:] if reach > 0 else before).items():
            value = values[token]
            value = value * params.repeat_penalty if value <= 0 else value / params.repeat_penalty
            values[token] = np.float32(value - count * params.frequency_penalty - params.presence_penalty)
    return values


def _softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(values - values.max())
    p: NDArray[np.float64] = weights / weights.sum()
    return p


def _until(p: NDArray[np.float64], bound: float) -> tuple[int, float]:
    """The length of the shortest prefix whose mass reaches the bound, and how close the mass comes to it there."""
    mass = p.cumsum()
    length = min(int(mass.searchsorted(bound)) + 1, len(p))
    return length, float(np.abs(mass[max(0, length - 2) : length] - bound).min())
