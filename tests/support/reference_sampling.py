"""The sampling stages one after the other, written for clarity. The engine's fast version must give the same result."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from specchat_engine import SamplingParams


@dataclass(frozen=True)
class Reference:
    """The surviving ids with their log-probabilities, and the smallest margin by which any stage decided."""

    log_p: dict[int, float]
    slack: float


def reference(
    logits: Sequence[float], params: SamplingParams, context: Sequence[int] = (), drafted: Sequence[int] = ()
) -> Reference:
    """llama.cpp's order: penalties, top-k, typical-p, top-p, min-p, temperature; ties by id."""
    values = _penalised(list(logits), params, [*context, *drafted])
    slack = math.inf
    kept = sorted(range(len(values)), key=lambda token: (-values[token], token))
    if params.top_k:
        kept = kept[: params.top_k]
    if params.typical_p < 1:
        kept, near = _typical(kept, values, params.typical_p)
        slack = min(slack, near)
    if params.top_p < 1:
        kept, near = _until(kept, _softmax([values[token] for token in kept]), params.top_p)
        slack = min(slack, near)
    best = values[kept[0]]
    if params.min_p > 0:
        floor = best + math.log(params.min_p)
        slack = min([slack, *(abs(values[token] - floor) for token in kept if values[token] != best)])
        kept = [token for token in kept if values[token] == best or values[token] >= floor]
    if params.temperature == 0:
        return Reference({kept[0]: 0.0}, slack)
    scaled = [(values[token] - best) / params.temperature for token in kept]
    total = math.log(sum(math.exp(value) for value in scaled))
    return Reference({token: value - total for token, value in zip(kept, scaled, strict=True)}, slack)


def _penalised(values: list[float], params: SamplingParams, before: Sequence[int]) -> list[float]:
    reach = len(before) if params.penalty_last_n < 0 else params.penalty_last_n
    for token, count in Counter(before[len(before) - min(reach, len(before)) :]).items():
        value = values[token]
        value = value * params.repeat_penalty if value <= 0 else value / params.repeat_penalty
        value -= count * params.frequency_penalty + params.presence_penalty
        values[token] = float(np.float32(value))
    return values


def _typical(kept: list[int], values: list[float], bound: float) -> tuple[list[int], float]:
    p = _softmax([values[token] for token in kept])
    entropy = -sum(share * math.log(share) for share in p if share > 0)
    surprise = [abs(-math.log(share) - entropy) if share > 0 else math.inf for share in p]
    order = sorted(range(len(kept)), key=lambda place: (surprise[place], place))
    ranked = sorted(set(surprise))
    near = min((after - before for before, after in pairwise(ranked)), default=math.inf)
    chosen, slack = _until(order, [p[place] for place in order], bound)
    return [kept[place] for place in sorted(chosen)], min(near, slack)


def _until(items: list[int], p: list[float], bound: float) -> tuple[list[int], float]:
    """The shortest prefix whose mass reaches the bound, and how close any prefix comes to the bound."""
    mass = 0.0
    slack = math.inf
    length = 0
    for share in p:
        slack = min(slack, abs(mass - bound)) if length else slack
        if length and mass >= bound:
            break
        mass += share
        length += 1
    return items[:length], slack


def _softmax(values: list[float]) -> list[float]:
    best = max(values)
    weights = [math.exp(value - best) for value in values]
    total = math.fsum(weights)
    return [weight / total for weight in weights]
