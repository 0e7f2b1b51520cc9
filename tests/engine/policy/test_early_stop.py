"""A draft goes on while another token is expected to be worth its time."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from specchat_engine.policy.early_stop import EarlyStop, best_length, stop_bounds

shares = st.floats(0.05, 0.99)


def costs_of(slope: float, most: int = 16, step: float = 0.1) -> list[float]:
    return [1 + (slope + step) * drafted for drafted in range(most + 1)]


def drafts_by(bounds: tuple[float, ...], p_accept: list[float], classes: list[int]) -> int:
    """How many tokens a draft with confidences of these classes gets."""
    worth_more = EarlyStop(bounds, p_accept, int).begin()
    return next((drafted for drafted, c in enumerate(classes, 1) if not worth_more(c)), len(classes))


@given(shares, st.floats(0.05, 0.8), st.floats(0.2, 3), st.integers(1, 6))
def test_another_token_is_drafted_exactly_if_some_number_of_further_tokens_pays(
    share: float, slope: float, pace: float, drafted: int
) -> None:
    costs = costs_of(slope, 8)
    reach = share**drafted
    gains = [
        reach * sum(share**token for token in range(1, more + 1)) - pace * (costs[drafted + more] - costs[drafted])
        for more in range(1, 9 - drafted)
    ]
    bounds = stop_bounds(share, costs, pace)
    assume(all(abs(gain) > 1e-9 for gain in gains))
    assert (drafted <= len(bounds) and reach >= bounds[drafted - 1]) == (max(gains) > 0)


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
    bounds = stop_bounds(0.816, costs_of(0.3), 1.0)
    assert drafts_by(bounds, p_accept, [1, 1, 0, 1]) == 3
    assert drafts_by(bounds, p_accept, [1, 1, 1, 1]) == 4, "each draft begins anew"


def test_a_draft_looks_beyond_an_expensive_second_token() -> None:
    """The next token costs more than it gives, but those after it cost next to nothing."""
    costs = [1.0, 1.2, 2.3, *(2.3 + 0.05 * n for n in range(1, 14))]
    bounds = stop_bounds(0.95, costs, 1.0)
    assert len(bounds) > 4
    assert drafts_by(bounds, [0.95], [0, 0, 0]) == 3


def test_a_draft_whose_next_token_never_pays_has_one_token() -> None:
    bounds = stop_bounds(0.5, costs_of(0.9), 1.0)
    assert bounds == ()
    assert drafts_by(bounds, [0.5], [0, 0]) == 1


def test_the_faster_the_alternative_the_earlier_a_draft_ends() -> None:
    slow, fast = (stop_bounds(0.8, costs_of(0.3), pace) for pace in (0.5, 1.5))
    assert all(one < other for one, other in zip(slow, fast, strict=False))
    assert len(slow) >= len(fast)
