"""A draft goes on while another token is expected to be worth its time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.early_stop import EarlyStop, best_length, best_stopping, fastest

shares = st.floats(0.05, 0.99)


def costs_of(slope: float, most: int = 16, step: float = 0.1) -> list[float]:
    return [1 + (slope + step) * drafted for drafted in range(most + 1)]


def drafts_by(bounds: tuple[float, ...], p_accept: list[float], classes: list[int]) -> int:
    """How many tokens a draft with confidences of these classes gets."""
    worth_more = EarlyStop(bounds, p_accept, int).begin()
    return next((drafted for drafted, c in enumerate(classes, 1) if not worth_more(c)), len(classes))


def value_of(p_accept: list[float], often: list[float], costs: list[float], pace: float, drafted: int = 0) -> float:
    """The most that a draft may add after this many tokens, by trying every decision on every sequence of classes."""
    if drafted == len(costs) - 1:
        return 0.0
    worth = -pace * (costs[drafted + 1] - costs[drafted])
    for p, share in zip(p_accept, often, strict=True):
        worth += share * p * (1 + value_of_reach(p_accept, often, costs, pace, drafted + 1, p) / p)
    return worth


def value_of_reach(
    p_accept: list[float], often: list[float], costs: list[float], pace: float, drafted: int, reach: float
) -> float:
    if drafted == len(costs) - 1:
        return 0.0
    worth = -pace * (costs[drafted + 1] - costs[drafted])
    for p, share in zip(p_accept, often, strict=True):
        worth += share * (reach * p + value_of_reach(p_accept, often, costs, pace, drafted + 1, reach * p))
    return max(0.0, worth)


@given(
    st.lists(st.floats(0.1, 0.99), min_size=2, max_size=3),
    st.lists(st.floats(0.05, 0.8), min_size=4, max_size=4),
    st.floats(0.3, 2),
)
def test_no_other_way_of_ending_a_draft_is_worth_more(p_accept: list[float], added: list[float], pace: float) -> None:
    often = [1 / len(p_accept)] * len(p_accept)
    costs = [1.0, *(1 + sum(added[: n + 1]) for n in range(4))]
    option = best_stopping(tuple(p_accept), tuple(often), tuple(costs), pace)
    best = 1 - pace * costs[0] + value_of(p_accept, often, costs, pace)
    assert option.tokens - pace * option.milliseconds == pytest.approx(best, abs=0.25), "reaches lie on a grid"


@given(st.lists(shares, min_size=6, max_size=6), st.floats(0.05, 0.8), st.floats(0.2, 3))
def test_the_best_length_is_the_best_of_all(p_accept: list[float], slope: float, pace: float) -> None:
    costs = costs_of(slope, 6)
    values = []
    for k in range(1, 7):
        expected = 1 + sum(math.prod(p_accept[:length]) for length in range(1, k + 1))
        values.append(expected - pace * costs[k])
    option = best_length(p_accept, costs, range(1, 7), pace)
    assert option.tokens - pace * option.milliseconds == pytest.approx(max(values))


def test_a_fixed_length_is_kept() -> None:
    assert best_length([0.1] * 8, costs_of(1.0), range(5, 6), 1.0).k == 5


def test_a_draft_continues_while_the_drafter_is_confident_and_then_stops() -> None:
    p_accept = [0.2, 0.97]
    bounds = best_stopping((0.2, 0.97), (0.2, 0.8), tuple(costs_of(0.3)), 1.0).bounds
    assert drafts_by(bounds, p_accept, [1, 1, 0, 1]) == 3
    assert drafts_by(bounds, p_accept, [1, 1, 1, 1]) == 4, "each draft begins anew"


def test_a_draft_looks_beyond_an_expensive_second_token() -> None:
    """The next token costs more than it gives, but those after it cost next to nothing."""
    costs = [1.0, 1.2, 2.3, *(2.3 + 0.05 * n for n in range(1, 14))]
    bounds = best_stopping((0.95,), (1.0,), tuple(costs), 1.0).bounds
    assert len(bounds) > 4
    assert drafts_by(bounds, [0.95], [0, 0, 0]) == 3


def test_a_draft_whose_next_token_never_pays_has_one_token() -> None:
    bounds = best_stopping((0.5,), (1.0,), tuple(costs_of(0.9)), 1.0).bounds
    assert bounds == ()
    assert drafts_by(bounds, [0.5], [0, 0]) == 1


def test_the_faster_the_alternative_the_earlier_a_draft_ends() -> None:
    slow, fast = (best_stopping((0.8,), (1.0,), tuple(costs_of(0.3)), pace).bounds for pace in (0.5, 1.5))
    assert all(one < other for one, other in zip(slow, fast, strict=False))
    assert len(slow) >= len(fast)


@given(st.lists(shares, min_size=6, max_size=6), st.floats(0.05, 0.8))
def test_the_fastest_draft_has_the_best_rate_of_all(p_accept: list[float], slope: float) -> None:
    costs = costs_of(slope, 6)
    rates = [best_length(p_accept, costs, range(k, k + 1), 1.0).rate for k in range(7)]
    option = fastest(lambda pace: best_length(p_accept, costs, range(7), pace), 1.0)
    assert option.rate == pytest.approx(max(rates), rel=0.002)


def test_a_draft_that_never_ends_early_emits_as_many_tokens_as_its_classes_are_frequent_and_accepted() -> None:
    """Reaches are on a grid, so the sum of the powers of the mean acceptance is met roughly."""
    usual = 0.9 * 0.3 + 0.1 * 0.95
    option = best_stopping((0.3, 0.95), (0.9, 0.1), (1.0, 1.1, 1.2, 1.3), 0.001)
    assert option.k == 3
    assert option.tokens == pytest.approx(1 + usual + usual**2 + usual**3, rel=0.02)
