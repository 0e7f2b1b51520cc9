"""The second writing of the sampling stages agrees with the first one, and says where rounding may decide."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import SamplingParams
from specchat_engine.analysis.reference import law
from specchat_engine.sampling.sampler import Sampler

parameters = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.3, 0.8, 1.5]),
    top_k=st.sampled_from([0, 1, 5, 40]),
    top_p=st.sampled_from([0.5, 0.95, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.3]),
    typical_p=st.sampled_from([0.4, 1.0, 1.0]),
    repeat_penalty=st.sampled_from([1.0, 1.3, 0.8]),
    frequency_penalty=st.sampled_from([0.0, 0.4]),
    presence_penalty=st.sampled_from([0.0, 0.7]),
    penalty_last_n=st.sampled_from([-1, 0, 3, 64]),
    logit_bias=st.sampled_from([(), ((2, 3.0), (5, -1.0))]),
)


@given(parameters, st.integers(0, 10**6), st.lists(st.integers(0, 59), max_size=8))
def test_it_agrees_with_the_sampler(params: SamplingParams, seed: int, before: list[int]) -> None:
    logits = (np.random.default_rng(seed).standard_normal(60) * 4).astype(np.float32)
    candidates, found = Sampler(params, seed).candidates(logits, before), law(logits, params, before)
    if found.slack > 1e-6:
        assert sorted(found.ids.tolist()) == candidates.ids.tolist()
        for token in candidates.ids.tolist():
            assert found.probability(token) == pytest.approx(candidates.probability(token), abs=1e-12)
        assert found.draw(seed, 3)[0] == Sampler(params, seed).draw(candidates, 3)


def test_what_is_left_without_a_token_adds_up_to_one() -> None:
    found = law(np.array([1.0, 2.0, 3.0], np.float32), SamplingParams(temperature=1, min_p=0, top_p=1), ())
    rest = found.without(2)
    assert np.exp(rest.log_p).sum() == pytest.approx(1)
    assert rest.probability(1) / rest.probability(0) == pytest.approx(np.e)
    assert found.without(2).without(1).without(0).ids.tolist() == [0]
