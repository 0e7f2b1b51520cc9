"""Which stage of the sampler took a token out of a row: for whoever looks closely, one stage after the other.

The sampler itself never asks: it finds the survivors in one go. What is told here agrees with it, but for tokens so
near to a bound that the order of a sum decides.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.params import SamplingParams

STAGES = ("grammar", "logit-bias", "top-k", "typical-p", "top-p", "min-p", "temperature")
"""In their order. A bias takes out what it bans, the temperature 0 all but the best."""

SURVIVED = -1


def removed_by(
    logits: NDArray[np.float32], allowed: NDArray[np.bool_] | None, params: SamplingParams
) -> NDArray[np.int8]:
    """The place in `STAGES` of what took each token of a row [V] out, `SURVIVED` for those that are left.

    The logits are those behind bias and penalties; `allowed` says which tokens the grammar does, None without one.
    """
    removed = np.full(len(logits), SURVIVED, np.int8)
    if allowed is not None:
        removed[~allowed] = STAGES.index("grammar")
    banned = [token for token, bias in params.logit_bias if bias == -math.inf and token < len(logits)]
    removed[[token for token in banned if removed[token] == SURVIVED]] = STAGES.index("logit-bias")

    left = np.flatnonzero(removed == SURVIVED)
    values = logits.astype(np.float64)
    order = left[np.argsort(-values[left], kind="stable")]
    for stage, keep in (("top-k", _top_k), ("typical-p", _typical), ("top-p", _top_p), ("min-p", _min_p)):
        kept = keep(values[order], params) if len(order) else np.empty(0, np.bool_)
        removed[order[~kept]] = STAGES.index(stage)
        order = order[kept]
    if params.temperature == 0:
        removed[order[1:]] = STAGES.index("temperature")
    return removed


def _top_k(values: NDArray[np.float64], params: SamplingParams) -> NDArray[np.bool_]:
    return np.arange(len(values)) < (params.top_k or len(values))


def _typical(values: NDArray[np.float64], params: SamplingParams) -> NDArray[np.bool_]:
    """The least surprising tokens (Meister et al. 2202.00666) that weigh enough together."""
    if params.typical_p >= 1:
        return np.ones(len(values), np.bool_)
    log_p = values - values[0]
    log_p -= math.log(np.exp(log_p).sum())
    p = np.exp(log_p)
    possible = p > 0
    surprise = np.abs(-log_p + (p[possible] * log_p[possible]).sum())
    order = np.argsort(surprise, kind="stable")
    kept = np.zeros(len(values), np.bool_)
    kept[order[: _count(p[order], params.typical_p)]] = True
    return kept


def _top_p(values: NDArray[np.float64], params: SamplingParams) -> NDArray[np.bool_]:
    if params.top_p >= 1:
        return np.ones(len(values), np.bool_)
    weights = np.exp(values - values[0])
    return np.arange(len(values)) < _count(weights, params.top_p * weights.cumsum()[-1])


def _min_p(values: NDArray[np.float64], params: SamplingParams) -> NDArray[np.bool_]:
    floor = values[0] + math.log(params.min_p) if params.min_p > 0 else -math.inf
    return values >= floor


def _count(weights: NDArray[np.float64], bound: float) -> int:
    """The length of the shortest prefix that weighs at least so much, else all."""
    return min(int(np.searchsorted(weights.cumsum(), bound)) + 1, len(weights))
