"""What is told about the stages agrees with the sampler, which never asks, and with the reference, stage by stage."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from specchat_engine import SamplingParams
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.sampling.stages import STAGES, SURVIVED, removed_by
from support.reference_sampling import reference

OFF = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)

PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.5, 1.0]),
    top_k=st.sampled_from([0, 1, 3, 12]),
    top_p=st.sampled_from([0.3, 0.8, 1.0]),
    min_p=st.sampled_from([0.0, 0.05, 0.4]),
    typical_p=st.sampled_from([0.2, 0.7, 1.0]),
)


def stage_of(logits: list[float], params: SamplingParams, allowed: list[bool] | None = None) -> list[str | None]:
    mask = None if allowed is None else np.array(allowed)
    found = removed_by(np.array(logits, np.float32), mask, params)
    return [None if place == SURVIVED else STAGES[place] for place in found]


def rows(seed: int) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    return (random.standard_normal(random.integers(2, 60)) * random.choice([0.5, 2, 5])).astype(np.float32)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), PARAMS)
def test_what_no_stage_removed_is_what_the_sampler_draws_from(seed: int, params: SamplingParams) -> None:
    row = rows(seed)
    if reference(row.tolist(), params).slack < 1e-6:
        return
    left = np.flatnonzero(removed_by(row, None, params) == SURVIVED).tolist()
    assert left == Sampler(params, 1).candidates(row, ()).ids.tolist()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), PARAMS)
def test_a_token_is_gone_from_its_stage_on_and_there_before(seed: int, params: SamplingParams) -> None:
    """Switching the later stages off brings back exactly what they took; with its own stage on, a token is gone."""
    row = rows(seed)
    removed = removed_by(row, None, params)
    switched = {"top-k": "top_k", "typical-p": "typical_p", "top-p": "top_p", "min-p": "min_p"}
    given_so_far = OFF
    for stage, name in switched.items():
        given_so_far = replace(given_so_far, **{name: getattr(params, name)})
        found = reference(row.tolist(), given_so_far)
        if found.slack < 1e-6:
            return
        gone = (removed != SURVIVED) & (removed <= STAGES.index(stage))
        assert np.flatnonzero(~gone).tolist() == sorted(found.log_p)


def test_each_stage_is_named_by_what_it_takes() -> None:
    logits = [5.0, 4.5, 2.0, 1.0, 0.0]
    assert stage_of(logits, OFF) == [None] * 5
    assert stage_of(logits, replace(OFF, top_k=2)) == [None, None, "top-k", "top-k", "top-k"]
    assert stage_of(logits, replace(OFF, min_p=0.5)) == [None, None, "min-p", "min-p", "min-p"]
    assert stage_of(logits, replace(OFF, top_p=0.5)) == [None, "top-p", "top-p", "top-p", "top-p"]
    assert stage_of(logits, replace(OFF, temperature=0.0)) == [None] + ["temperature"] * 4
    assert stage_of(logits, replace(OFF, logit_bias=((1, -math.inf), (2, 3.0)))) == [None, "logit-bias"] + [None] * 3
    everything = replace(OFF, top_k=4, top_p=0.97, min_p=0.5, temperature=0.0, logit_bias=((3, -math.inf),))
    assert stage_of([*logits, 9.0], everything, [True] * 5 + [False]) == [
        None,
        "temperature",
        "min-p",
        "logit-bias",
        "top-p",
        "grammar",
    ]


def test_the_first_stage_that_would_take_a_token_is_the_one_that_is_named() -> None:
    logits = [5.0, 0.0, 0.0]
    assert stage_of(logits, replace(OFF, top_k=1, top_p=0.5, min_p=0.5)) == [None, "top-k", "top-k"]
    assert stage_of(logits, replace(OFF, top_p=0.5, min_p=0.5)) == [None, "top-p", "top-p"]
    assert stage_of(logits, replace(OFF, top_k=1, logit_bias=((1, -math.inf),)), [True, False, True]) == [
        None,
        "grammar",
        "top-k",
    ]


def test_typical_p_may_take_the_best() -> None:
    found = stage_of([3.0, 2.0, 2.0, 2.0, 2.0], replace(OFF, typical_p=0.4, top_k=0))
    assert found[0] == "typical-p"
    assert found[1] is None


def test_equal_logits_are_cut_by_id() -> None:
    assert stage_of([1.0, 2.0, 2.0, 2.0], replace(OFF, top_k=2)) == ["top-k", None, None, "top-k"]


def test_where_the_grammar_allows_nothing_it_took_all() -> None:
    assert stage_of([1.0, 2.0], SamplingParams(), [False, False]) == ["grammar", "grammar"]


@pytest.mark.parametrize("size", [3, 150_000])
def test_a_row_stays_as_it_was(size: int) -> None:
    row = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    before = row.copy()
    removed_by(row, None, SamplingParams(typical_p=0.5))
    assert (row == before).all()
