"""The sampler equals the stages written out one by one, and its draws follow the distribution that it states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from specchat_engine import DecodeError, SamplingParams
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import NOISE_RANGE, gumbel
from specchat_engine.sampling.sampler import Sampler
from support.reference_sampling import reference

CLEAR = 1e-5
"""A stage that decides by less than this may decide otherwise in 32 bits."""

shares = st.one_of(st.sampled_from([0.0, 0.05, 0.5, 0.95, 1.0]), st.floats(0, 1))
penalties = st.fixed_dictionaries(
    {
        "repeat_penalty": st.sampled_from([1.0, 1.0, 1.1, 0.5, 2.0]),
        "frequency_penalty": st.sampled_from([0.0, 0.0, 0.5, -1.0]),
        "presence_penalty": st.sampled_from([0.0, 0.0, 0.7, -0.3]),
        "penalty_last_n": st.sampled_from([-1, 0, 1, 3, 64]),
    }
)
truncations = st.fixed_dictionaries(
    {
        "temperature": st.one_of(st.sampled_from([0.0, 0.01, 0.8, 1.0, 5.0]), st.floats(0.01, 3)),
        "top_k": st.one_of(st.sampled_from([0, 1, 40]), st.integers(0, 400)),
        "top_p": shares,
        "min_p": shares,
        "typical_p": st.one_of(st.just(1.0), st.just(1.0), shares),
    }
)


@st.composite
def rows(draw: st.DrawFn) -> list[float]:
    """Logits with few or many distinct values, so with and without ties; some with tokens that are ruled out."""
    size = draw(st.integers(2, 300))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    row = random.standard_normal(size) * draw(st.sampled_from([0.1, 1.0, 4.0, 30.0])) + draw(st.sampled_from([0, -50]))
    if draw(st.booleans()):
        row = np.round(row)
    if draw(st.booleans()):
        row[random.random(size) < draw(st.floats(0, 0.9))] = -math.inf
        row[draw(st.integers(0, size - 1))] = 0.0
    return [float(value) for value in row.astype(np.float32)]


def as_dict(candidates: Candidates) -> dict[int, float]:
    return dict(zip(candidates.ids.tolist(), candidates.log_p.tolist(), strict=True))


@settings(max_examples=500)
@given(rows(), truncations, penalties, st.lists(st.integers(0, 300), max_size=8), st.integers(0, 8))
@example([0.0, -3.0, -3.0, -3.0], {"typical_p": 0.3, "temperature": 0.01}, {}, [], 0)
def test_the_sampler_equals_the_stages_one_by_one(
    row: list[float], truncation: dict[str, float], penalty: dict[str, float], before: list[int], split: int
) -> None:
    params = SamplingParams(**truncation, **penalty)  # type: ignore[arg-type]
    before = [token % len(row) for token in before]
    context, drafted = before[:split], before[split:]
    expected = reference(row, params, context, drafted)
    assume(expected.slack > CLEAR)
    found = Sampler(params, 1).candidates(np.array(row, np.float32), context, drafted)
    finite = {token: value for token, value in expected.log_p.items() if value > -700}
    assert {token for token, value in as_dict(found).items() if value > -700} == set(finite)
    for token, value in finite.items():
        assert as_dict(found)[token] == pytest.approx(value, abs=1e-9)
    assert found.ids.tolist() == sorted(found.ids.tolist())


@given(rows(), st.sampled_from([0.0, 0.8]), st.sampled_from([0.05, 0.5, 1.0]), st.sampled_from([1, 40]))
def test_a_certain_token_is_as_sure_as_its_share_against_the_next_best(
    row: list[float], temperature: float, min_p: float, top_k: int
) -> None:
    given_row = np.array(row, np.float32)
    best, *others = sorted(given_row.tolist(), reverse=True)
    sampler = Sampler(SamplingParams(temperature=temperature, top_k=top_k, top_p=1.0, min_p=min_p), 1)
    candidates = sampler.candidates(given_row, ())
    assume(candidates.only is not None and others)
    sure = sampler.confidence(given_row, candidates, int(given_row.argmax()))
    assert sure == pytest.approx(1 / (1 + math.exp(others[0] - best)))
    assert given_row.tolist() == np.array(row, np.float32).tolist()


def test_the_default_truncation_of_a_big_vocabulary_equals_the_stages() -> None:
    random = np.random.default_rng(0)
    for params in (SamplingParams(), SamplingParams(top_k=0, min_p=0), SamplingParams(top_k=5000, min_p=0, top_p=0.7)):
        for scale in (0.01, 1.0, 8.0):
            row = (random.standard_normal(20_000) * scale).astype(np.float32)
            expected = reference(row.tolist(), params)
            found = as_dict(Sampler(params, 1).candidates(row, ()))
            assert abs(len(found) - len(expected.log_p)) <= (expected.slack < CLEAR)
            assert found == pytest.approx(expected.log_p, abs=1e-3 if expected.slack < CLEAR else 1e-9)


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("typical_p", [1.0, 0.9])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_row_that_is_not_finite_is_an_error_in_one_line(temperature: float, typical_p: float, bad: float) -> None:
    row = np.array([0.0, 1.0, bad, 2.0], np.float32)
    sampler = Sampler(SamplingParams(temperature=temperature, typical_p=typical_p), 1)
    with pytest.raises(DecodeError, match="weights are broken") as caught:
        sampler.candidates(row, ())
    assert "\n" not in str(caught.value)


def test_a_row_without_any_possible_token_is_an_error() -> None:
    with pytest.raises(DecodeError, match="-inf"):
        Sampler(SamplingParams(), 1).candidates(np.full(8, -math.inf, np.float32), ())


def test_a_long_tail_of_tokens_that_min_p_drops_counts_for_top_p() -> None:
    row = np.full(200_000, -13.0, np.float32)
    row[[7, 9]] = 0.0, -1.0
    params = SamplingParams(temperature=1, top_k=0, top_p=0.6)
    assert math.exp(-13) * 200_000 > 0.4, "the tail weighs nearly half of the best token"
    assert Sampler(params, 1).candidates(row, ()).ids.tolist() == [7, 9]
    assert Sampler(SamplingParams(temperature=1, top_p=0.6), 1).candidates(row, ()).ids.tolist() == [7]


def test_penalties_leave_the_models_row_alone() -> None:
    row = np.array([1.0, 2.0, 3.0], np.float32)
    Sampler(SamplingParams(repeat_penalty=2.0), 1).candidates(row, (2, 2, 1))
    assert row.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_are_distributed_as_the_candidates_say(temperature: float) -> None:
    row = np.array([0.5, 2.0, -1.0, 1.0, 0.0, 1.9], np.float32)
    chi_square = 0.0
    for seed in range(10):
        sampler = Sampler(SamplingParams(temperature=temperature, top_k=0, top_p=1, min_p=0), seed)
        candidates = sampler.candidates(row, ())
        counts = np.bincount([sampler.draw(candidates, position) for position in range(2000)], minlength=6)
        expected = np.exp(candidates.log_p) * 2000
        chi_square += float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 99, "50 degrees of freedom, p = 0.00005"


def test_draws_of_many_seeds_at_one_position_are_distributed_as_well() -> None:
    row = np.array([0.0, 1.0, 2.0], np.float32)
    params = SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0)
    candidates = Sampler(params, 0).candidates(row, ())
    counts = np.bincount([Sampler(params, seed).draw(candidates, 4) for seed in range(20_000)], minlength=3)
    expected = np.exp(candidates.log_p) * 20_000
    assert float(((counts - expected) ** 2 / expected).sum()) < 13.8, "2 degrees of freedom, p = 0.001"


@settings(max_examples=50)
@given(rows(), st.integers(0, 2**64 - 1), st.integers(0, 10_000))
def test_a_draw_is_always_one_of_the_candidates(row: list[float], seed: int, position: int) -> None:
    sampler = Sampler(SamplingParams(), seed)
    candidates = sampler.candidates(np.array(row, np.float32), ())
    token = sampler.draw(candidates, position)
    assert candidates.probability(token) > 0
    assert token == sampler.draw(candidates, position)


def test_a_bias_is_added_before_the_penalties_and_a_ban_excludes() -> None:
    row = np.array([1.0, 2.0, 3.0, 0.0], np.float32)
    params = SamplingParams(
        temperature=1, top_k=0, top_p=1, min_p=0, repeat_penalty=2.0, logit_bias=((0, 3.0), (1, -3.0), (2, -math.inf))
    )
    found = as_dict(Sampler(params, 1).candidates(row, (0, 1, 2)))
    assert found[0] - found[3] == pytest.approx((1 + 3) / 2)
    assert found[1] - found[3] == pytest.approx((2 - 3) * 2)
    assert found.get(2, -math.inf) == -math.inf


def test_the_models_row_is_as_before_also_if_no_token_is_left() -> None:
    row = np.array([1.0, 2.0, 3.0], np.float32)
    params = SamplingParams(repeat_penalty=2.0, logit_bias=tuple((token, -math.inf) for token in range(3)))
    for broken in (row, np.array([1.0, math.nan, 3.0], np.float32)):
        before = broken.copy()
        with pytest.raises(DecodeError):
            Sampler(params, 1).candidates(broken, (2, 1))
        np.testing.assert_array_equal(broken, before)


def test_a_row_that_is_shorter_than_the_vocabulary_is_adjusted_as_far_as_it_goes() -> None:
    row = np.array([0.0, 1.0, 2.0], np.float32)
    params = SamplingParams(temperature=0, repeat_penalty=2.0, logit_bias=((1, 9.0), (7, 9.0)))
    assert Sampler(params, 1).candidates(row, (5, 2)).only == 1


def test_other_noise_leaves_the_rule_as_it_is() -> None:
    row = np.array([0.0, 1.0, 2.0, 1.5], np.float32)
    sampler = Sampler(SamplingParams(temperature=1, min_p=0, logit_bias=((3, -math.inf),)), 1)
    other = sampler.reseeded(2)
    assert as_dict(other.candidates(row, ())) == as_dict(sampler.candidates(row, ()))
    candidates = sampler.candidates(row, ())
    draws = [(sampler.draw(candidates, at), other.draw(candidates, at)) for at in range(50)]
    assert any(ours != theirs for ours, theirs in draws)


@pytest.mark.parametrize(
    ("row", "params", "kept"),
    [
        ([3.0, 2.9, 2.8, -9.0, -9.0], SamplingParams(top_k=2, top_p=1, min_p=0.05), [0, 1]),
        ([1.0, 1.5, -9.0, -9.0], SamplingParams(), [0, 1]),
        ([0.0] + [-8.0] * 20 + [-30.0] * 30, SamplingParams(top_p=0.99999, min_p=0), [*range(21)]),
    ],
    ids=["top-k cuts what min-p leaves", "ids ascend whatever is best", "tokens far below the best may be kept"],
)
def test_rows_that_a_few_tokens_decide(row: list[float], params: SamplingParams, kept: list[int]) -> None:
    assert sorted(reference(row, params).log_p) == kept
    assert Sampler(params, 1).candidates(np.array(row, np.float32), ()).ids.tolist() == kept


@pytest.mark.parametrize("temperature", [1e-300, 1e-308, 5e-324])
def test_a_tiny_temperature_draws_the_best_token(temperature: float) -> None:
    row = np.array([1.0, 2.0, 3.0, 2.999], np.float32)
    sampler = Sampler(SamplingParams(temperature=temperature, top_k=0, top_p=1, min_p=0), 1)
    candidates = sampler.candidates(row, ())
    assert [sampler.draw(candidates, position) for position in range(10)] == [2] * 10
    assert candidates.probability(2) == 1.0


@given(
    st.floats(-320, -3).map(lambda exponent: 10.0**exponent),
    st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=40, unique=True),
    st.integers(0, 2**32),
)
def test_the_limit_of_vanishing_temperatures_is_greedy(temperature: float, row: list[float], seed: int) -> None:
    logits = np.array(row, np.float32) * 1000
    for cut in ({}, {"top_k": 0, "top_p": 1.0, "min_p": 0.0}, {"typical_p": 1.0, "repeat_penalty": 1.3}):
        sampler = Sampler(SamplingParams(temperature=temperature, **cut), seed)
        candidates = sampler.candidates(logits, ())
        assert not np.isnan(candidates.log_p).any()
        assert np.exp(candidates.log_p).sum() == pytest.approx(1)
        second, best = np.sort(logits)[-2:]
        if (float(best) - float(second)) / temperature > NOISE_RANGE:
            assert sampler.draw(candidates, 3) == logits.argmax()
            assert candidates.best(1)[0] == (logits.argmax(), 1)


@pytest.mark.parametrize("scale", [0.01, 3.0, 30.0])
def test_drawing_from_many_candidates_takes_the_largest_sum_of_log_p_and_noise(scale: float) -> None:
    row = (np.random.default_rng(4).standard_normal(20_000) * scale).astype(np.float32)
    sampler = Sampler(SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0), 9)
    candidates = sampler.candidates(row, ())
    for position in range(20):
        best = (candidates.log_p + gumbel(9, position, candidates.ids)).argmax()
        assert sampler.draw(candidates, position) == candidates.ids[best]
