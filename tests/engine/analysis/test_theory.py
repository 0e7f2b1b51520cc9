"""The formulas, against enumeration, known points and each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.analysis.theory import (
    break_even_alpha,
    expected_tokens,
    expected_tokens_by_position,
    predicted_speedup,
)

alphas = st.floats(0, 0.999)
lengths = st.integers(0, 12)


@given(alphas, lengths)
def test_expected_tokens_is_the_sum_over_the_places_where_a_round_can_end(alpha: float, k: int) -> None:
    ends = sum((place + 1) * alpha**place * (1 - alpha) for place in range(k)) + (k + 1) * alpha**k
    assert expected_tokens(alpha, k) == pytest.approx(ends)
    assert 1 <= expected_tokens(alpha, k) <= k + 1


def test_known_points_of_expected_tokens() -> None:
    assert expected_tokens(0.8, 4) == pytest.approx(3.3616)
    assert expected_tokens(1.0, 4) == 5
    assert expected_tokens(0.0, 4) == 1
    assert expected_tokens(1 - 1e-12, 4) == pytest.approx(5)


@given(alphas, lengths)
def test_equal_shares_at_all_positions_are_a_constant_alpha(alpha: float, k: int) -> None:
    assert expected_tokens_by_position([alpha] * k) == pytest.approx(expected_tokens(alpha, k))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_shares_by_position_are_summed_over_the_places_where_a_round_can_end(shares: list[float]) -> None:
    reached, ends = 1.0, 0.0
    for place, share in enumerate(shares):
        ends += (place + 1) * reached * (1 - share)
        reached *= share
    ends += (len(shares) + 1) * reached
    assert expected_tokens_by_position(shares) == pytest.approx(ends)


def test_known_points_of_the_predicted_speed_up() -> None:
    assert predicted_speedup(0.8, 4, 0.0, 1.0) == pytest.approx(3.3616)
    assert predicted_speedup(0.8, 4, 0.1, 2.1) == pytest.approx(3.3616 / 2.5)
    assert predicted_speedup(0.5, 0, 0.3, 1.0) == 1


@given(st.integers(1, 12), st.floats(0, 0.5), st.floats(1, 6))
def test_at_the_break_even_rate_nothing_is_won_or_lost(k: int, c: float, cost: float) -> None:
    alpha = break_even_alpha(k, c, cost)
    if alpha is None:
        assert predicted_speedup(1.0, k, c, cost) < 1
    else:
        assert predicted_speedup(alpha, k, c, cost) == pytest.approx(1)


def test_without_a_draft_there_is_no_break_even() -> None:
    assert break_even_alpha(0, 0.1, 1.0) is None
    assert break_even_alpha(4, 2.0, 3.0) is None
