"""The sampler keeps what llama.cpp's own samplers keep, with the same probabilities."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import llama_cpp
import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine import SamplingParams
from specchat_engine.sampling.sampler import Sampler
from support.reference_sampling import reference

PARAMS = (
    SamplingParams(),
    SamplingParams(temperature=0.3, top_k=0),
    SamplingParams(top_k=7, top_p=0.5, min_p=0),
    SamplingParams(top_k=0, top_p=1, min_p=0.2, temperature=1.7),
    SamplingParams(typical_p=0.6, top_k=100),
    SamplingParams(typical_p=0.3, top_p=0.8, min_p=0.1, top_k=0, temperature=0.5),
    SamplingParams(repeat_penalty=1.3, frequency_penalty=0.4, presence_penalty=0.2, penalty_last_n=16),
    SamplingParams(repeat_penalty=0.7, penalty_last_n=4, top_k=0, top_p=1, min_p=0, temperature=1),
    SamplingParams(temperature=0),
    SamplingParams(temperature=0, typical_p=0.5),
)


def llama_cpp_distribution(row: NDArray[np.float32], params: SamplingParams, before: Sequence[int]) -> dict[int, float]:
    """What a chain of llama.cpp's samplers makes of one row."""
    chain = llama_cpp.llama_sampler_chain_init(llama_cpp.llama_sampler_chain_default_params())
    penalties = llama_cpp.llama_sampler_init_penalties(
        len(row),
        params.penalty_last_n,
        params.repeat_penalty,
        params.frequency_penalty,
        params.presence_penalty,
    )
    for sampler in (
        penalties,
        llama_cpp.llama_sampler_init_top_k(params.top_k),
        llama_cpp.llama_sampler_init_typical(params.typical_p, 1),
        llama_cpp.llama_sampler_init_top_p(params.top_p, 1),
        llama_cpp.llama_sampler_init_min_p(params.min_p, 1),
        llama_cpp.llama_sampler_init_temp(params.temperature),
    ):
        llama_cpp.llama_sampler_chain_add(chain, sampler)
    for token in before:
        llama_cpp.llama_sampler_accept(chain, token)
    data = (llama_cpp.llama_token_data * len(row))()
    for token, logit in enumerate(row):
        data[token] = llama_cpp.llama_token_data(token, float(logit), 0.0)
    array = llama_cpp.llama_token_data_array(data=data, size=len(row), selected=-1, sorted=False)
    llama_cpp.llama_sampler_apply(chain, ctypes.byref(array))
    kept = {array.data[place].id: array.data[place].logit for place in range(array.size)}
    llama_cpp.llama_sampler_free(chain)
    kept = {token: logit for token, logit in kept.items() if np.isfinite(logit)}
    best = max(kept.values())
    weights = {token: float(np.exp(logit - best)) for token, logit in kept.items()}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_the_kept_tokens_and_their_probabilities_are_llama_cpps(params: SamplingParams) -> None:
    random = np.random.default_rng(5)
    compared = 0
    for size in (2, 50, 300, 3000):
        for scale in (0.3, 2.0, 6.0):
            row = (random.standard_normal(size) * scale).astype(np.float32)
            before = random.integers(0, size, 20).tolist()
            if reference(row.tolist(), params, before).slack < 2e-6:
                continue
            compared += 1
            candidates = Sampler(params, 1).candidates(row, before)
            found = dict(zip(candidates.ids.tolist(), np.exp(candidates.log_p).tolist(), strict=True))
            theirs = llama_cpp_distribution(row, params, before)
            assert found == pytest.approx(theirs, rel=1e-3, abs=1e-6)
            explained = Sampler(params, 1).explain(row, before)
            assert [token for token in range(size) if explained.removed_by(token) is None] == sorted(theirs)
    assert compared >= 5
