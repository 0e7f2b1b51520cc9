"""Asking the grammar about few tokens gives what masking the whole vocabulary first would give."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from specchat_engine import DecodeError, SamplingParams
from specchat_engine.grammar.constraint import Constraint
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from support.reference_sampling import reference

CLEAR = 1e-5
"""A stage that decides by less than this may decide otherwise in 32 bits."""


class Allowing:
    """A grammar that allows the same tokens at every place, and counts how many it was asked about."""

    forced = None

    def __init__(self, allowed: Iterable[int]) -> None:
        self.allowed = np.array(sorted(allowed), np.int64)
        self.asked = 0

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        self.asked += len(ids)
        return np.isin(ids, self.allowed)

    def after(self, token: int) -> Allowing | None:
        return self if token in self.allowed else None


def masked(row: NDArray[np.float32], params: SamplingParams, grammar: Allowing) -> Candidates:
    return Sampler(params, 1, Constraint(grammar)).candidates(row, ())


def finite(log_p: Iterable[tuple[int, float]]) -> dict[int, float]:
    return {token: value for token, value in log_p if value > -700}


shares = st.one_of(st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]), st.floats(0, 1))
params_strategy = st.builds(
    SamplingParams,
    temperature=st.one_of(st.sampled_from([0.0, 0.01, 0.8, 1.0, 5.0]), st.floats(0.01, 3)),
    top_k=st.one_of(st.sampled_from([0, 1, 3, 40]), st.integers(0, 400)),
    top_p=shares,
    min_p=shares,
    typical_p=st.one_of(st.just(1.0), st.just(1.0), shares),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[float], list[int], list[tuple[int, float]]]:
    """A row, the tokens that a grammar allows, often unlikely ones, and biases."""
    size = draw(st.integers(2, 300))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    row = random.standard_normal(size) * draw(st.sampled_from([0.1, 1.0, 4.0, 30.0]))
    if draw(st.booleans()):
        row = np.round(row)
    unlikely = np.argsort(row)[: draw(st.integers(1, size))]
    allowed = random.choice(unlikely, draw(st.integers(1, len(unlikely))), replace=False)
    bias = draw(st.sampled_from([0.0, 0.5, -3.0, 40.0, -math.inf]))
    biases = [(int(token), bias) for token in random.choice(size, draw(st.integers(0, 3)))] if bias else []
    return row.astype(np.float32).tolist(), sorted(allowed.tolist()), biases


@settings(max_examples=500)
@given(cases(), params_strategy)
@example(([0.0, -2.0, -4.0, -4.25, -20.0], [1, 3, 4], []), SamplingParams(top_p=0.9, min_p=0.0, top_k=0))
def test_the_candidates_are_those_of_the_row_with_everything_else_masked(
    case: tuple[list[float], list[int], list[tuple[int, float]]], params: SamplingParams
) -> None:
    row, allowed, biases = case
    biased = np.array(row, np.float32)
    for token, bias in dict(biases).items():
        biased[token] += np.float32(bias * sum(token == other for other, _ in biases))
    naive = np.full(len(row), -math.inf, np.float32)
    naive[allowed] = biased[allowed]
    logits = np.array(row, np.float32)
    fields = {name: getattr(params, name) for name in ("temperature", "top_k", "top_p", "min_p", "typical_p")}
    rule = SamplingParams(**fields, logit_bias=tuple(biases))
    if not np.isfinite(naive).any():
        with pytest.raises(DecodeError):
            masked(logits, rule, Allowing(allowed))
        return
    expected = reference(naive.tolist(), params)
    assume(expected.slack > CLEAR)
    found = masked(logits, rule, Allowing(allowed))
    assert logits.tolist() == row
    found_log_p = finite(zip(found.ids.tolist(), found.log_p.tolist(), strict=True))
    assert found_log_p == pytest.approx(finite(expected.log_p.items()), abs=1e-9)
    assert set(found.ids.tolist()) <= set(allowed)
    assert found.ids.tolist() == sorted(found.ids.tolist())


@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(temperature=0), SamplingParams(top_k=5, min_p=0)])
def test_where_the_likely_tokens_are_allowed_few_are_asked_about(params: SamplingParams) -> None:
    row = (np.random.default_rng(2).standard_normal(150_000)).astype(np.float32)
    row[:60] += np.linspace(20, 8, 60, dtype=np.float32)
    grammar = Allowing(range(0, 150_000, 2))
    candidates = masked(row, params, grammar)
    assert grammar.asked < 100
    assert set(candidates.ids % 2) == {0}


def test_a_token_that_no_one_would_have_said_is_found_when_it_is_the_only_one() -> None:
    row = np.zeros(1000, np.float32)
    row[7] = -500.0
    assert masked(row, SamplingParams(), Allowing([7])).only == 7


def test_the_mass_of_allowed_tokens_far_below_counts_for_top_p() -> None:
    row = np.full(200_000, -13.0, np.float32)
    row[:3] = 5.0, 0.0, -1.0
    params = SamplingParams(temperature=1, top_k=0, top_p=0.6)
    tail = range(1, 200_000)
    assert masked(row, params, Allowing(tail)).ids.tolist() == [1, 2]
    assert masked(row, params, Allowing([1, 2])).ids.tolist() == [1]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_broken_row_is_an_error_under_a_grammar_too(bad: float) -> None:
    row = np.array([0.0, bad, 1.0], np.float32)
    with pytest.raises(DecodeError, match="weights are broken"):
        masked(row, SamplingParams(), Allowing([0]))


def test_errors_distinguish_a_grammar_that_allows_nothing_from_a_model_that_rules_it_out() -> None:
    row = np.array([0.0, -math.inf, 1.0], np.float32)
    with pytest.raises(DecodeError, match="the grammar allows none of this model's tokens"):
        masked(row, SamplingParams(), Allowing([]))
    with pytest.raises(DecodeError, match=r"the model rules out all that the grammar allows here \(token 1\)"):
        masked(row, SamplingParams(), Allowing([1]))
    with pytest.raises(DecodeError, match=r"logit_bias bans all that the grammar allows here \(token 0\)"):
        masked(row, SamplingParams(logit_bias=((0, -math.inf),)), Allowing([0]))
    assert row.tolist() == [0.0, -math.inf, 1.0]
