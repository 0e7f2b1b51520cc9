"""The pipeline gives the same result from the whole row as from a part of it, and says which stage removed a token."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from specchat_engine import DecodeError, SamplingParams
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.sampling.pipeline import Pipeline
from specchat_engine.sampling.sampler import ExplainedRow, Sampler
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


class Allowing:
    """A grammar that allows the tokens of a mask at every place."""

    def __init__(self, allowed: list[bool]) -> None:
        self._allowed = np.array(allowed)

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        return self._allowed[ids]

    def after(self, token: int) -> Allowing:
        return self

    def close(self) -> None:
        pass


def explained(logits: list[float], params: SamplingParams, allowed: list[bool] | None = None) -> ExplainedRow:
    constraint = Constraint(Allowing(allowed)) if allowed else None
    return Sampler(params, 1, constraint).explain(np.array(logits, np.float32), ())


def stage_of(logits: list[float], params: SamplingParams, allowed: list[bool] | None = None) -> list[str | None]:
    found = explained(logits, params, allowed)
    return [found.removed_by(token) for token in range(len(logits))]


def rows(seed: int) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    return (random.standard_normal(random.integers(2, 60)) * random.choice([0.5, 2, 5])).astype(np.float32)


@settings(max_examples=200)
@given(st.integers(0, 10_000), PARAMS)
def test_an_explanation_has_the_candidates_that_are_drawn_from(seed: int, params: SamplingParams) -> None:
    row = rows(seed)
    if reference(row.tolist(), params).slack < 1e-6:
        return
    found = Sampler(params, 1).explain(row, ())
    expected = Sampler(params, 1).candidates(row, ())
    assert found.candidates.ids.tolist() == expected.ids.tolist()
    assert found.candidates.log_p == pytest.approx(expected.log_p)
    removed = np.concatenate([*found.removed.values()])
    assert sorted([*removed.tolist(), *expected.ids.tolist()]) == [*range(len(row))]


@settings(max_examples=200)
@given(st.integers(0, 10_000), PARAMS)
def test_every_settled_pool_gives_what_the_whole_row_gives(seed: int, params: SamplingParams) -> None:
    row = rows(seed)
    if reference(row.tolist(), params).slack < 1e-6:
        return
    pipeline = Pipeline(params)
    results = [pipeline.truncated(pool) for pool in pipeline.pools(row, float(row.max()))]
    (whole,) = (pipeline.truncated(pool) for pool in pipeline.pools(row, float(row.max()), whole=True))
    assert results[-1].settled
    for result in results:
        if result.settled:
            assert result.ids.tolist() == whole.ids.tolist()


@settings(max_examples=200)
@given(st.integers(0, 10_000), PARAMS)
def test_a_token_is_gone_from_its_stage_on_and_there_before(seed: int, params: SamplingParams) -> None:
    """Switching the later stages off brings back exactly what they removed."""
    row = rows(seed)
    removed = Sampler(params, 1).explain(row, ()).removed
    gone: set[int] = set()
    switched = {"top-k": "top_k", "typical-p": "typical_p", "top-p": "top_p", "min-p": "min_p"}
    so_far = OFF
    for stage, name in switched.items():
        so_far = replace(so_far, **{name: getattr(params, name)})
        found = reference(row.tolist(), so_far)
        if found.slack < 1e-6:
            return
        gone |= set(removed[stage].tolist())
        assert set(range(len(row))) - gone == set(found.log_p)


@pytest.mark.parametrize("typical_p", [1.0, 0.9])
@pytest.mark.parametrize("top_p", [0.3, 0.95, 0.9999])
@pytest.mark.parametrize("shape", ["flat", "peaked", "few values", "equal", "far below"])
def test_a_large_vocabulary_is_cut_where_sorting_it_would_cut(shape: str, top_p: float, typical_p: float) -> None:
    random = np.random.default_rng(3)
    normal = random.standard_normal(20_000)
    row = {
        "flat": normal * 0.01,
        "peaked": normal * 3 + 12.0 * (normal > 3),
        "few values": np.round(normal),
        "equal": np.zeros(20_000),
        "far below": np.where(normal > 3.5, 0.0, normal - 10_000),
    }[shape].astype(np.float32)
    for top_k in (0, 40, 3000):
        params = SamplingParams(temperature=0.7, top_k=top_k, top_p=top_p, min_p=0.0, typical_p=typical_p)
        expected = reference(row.tolist(), params)
        found = Sampler(params, 1).candidates(row, ())
        wrong = set(found.ids.tolist()) ^ {token for token, value in expected.log_p.items() if value > -math.inf}
        assert len(wrong) <= (expected.slack < 1e-9), "a tie within rounding may move the cut by one token"


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


def test_a_row_without_a_possible_token_has_no_explanation() -> None:
    with pytest.raises(DecodeError, match="the grammar allows none"):
        explained([1.0, 2.0], SamplingParams(), [False, False])


@pytest.mark.parametrize("size", [3, 150_000])
def test_a_row_stays_as_it_was(size: int) -> None:
    row = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    before = row.copy()
    Sampler(SamplingParams(typical_p=0.5, repeat_penalty=1.5, logit_bias=((1, 2.0),)), 1).explain(row, (1, 2))
    assert (row == before).all()
