"""A draft goes on while another token is expected to be worth its time."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.early_stop import EarlyStop, best_length, best_stopped

shares = st.floats(0.05, 0.99)


def costs_of(slope: float, most: int = 16, step: float = 0.1) -> list[float]:
    return [1 + (slope + step) * drafted for drafted in range(most + 1)]


def value_of_stopping(
    bounds: tuple[float, ...], k: int, p_accept: list[float], frequency: list[float], costs: list[float]
) -> tuple[float, float]:
    """The tokens and milliseconds to expect of a draft that ends by these bounds, counted over all confidences."""
    tokens = milliseconds = 0.0
    for classes in itertools.product(range(len(p_accept)), repeat=k):
        chance = math.prod(frequency[c] for c in classes)
        worth_more = EarlyStop(bounds, p_accept, int).begin()
        reach, got = 1.0, 1.0
        for drafted, place in enumerate(classes, 1):
            reach *= p_accept[place]
            got += reach
            if not worth_more(place) or drafted == k:
                tokens += chance * got
                milliseconds += chance * costs[drafted]
                break
    return tokens, milliseconds


@given(shares, shares, st.floats(0.1, 0.9), st.floats(0.05, 0.8))
def test_what_a_draft_is_expected_to_give_is_what_its_bounds_make_of_it(
    low: float, high: float, often: float, slope: float
) -> None:
    p_accept, frequency, costs = [low, high], [often, 1 - often], costs_of(slope, 5)
    option = best_stopped(p_accept, frequency, costs, 1.0)
    tokens, milliseconds = value_of_stopping(option.bounds, option.k, p_accept, frequency, costs)
    assert option.tokens - option.milliseconds == pytest.approx(tokens - milliseconds, abs=0.1)


@given(shares, shares, st.floats(0.1, 0.9), st.floats(0.05, 0.8))
def test_no_fixed_length_is_better_than_ending_early(low: float, high: float, often: float, slope: float) -> None:
    p_accept, frequency, costs = [low, high], [often, 1 - often], costs_of(slope, 8)
    option = best_stopped(p_accept, frequency, costs, 1.0)
    mean = low * often + high * (1 - often)
    fixed = best_length([mean] * 8, costs, range(1, 9), 1.0)
    assert option.tokens - option.milliseconds >= fixed.tokens - fixed.milliseconds - 0.1


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


def test_a_draft_goes_on_while_it_is_sure_and_ends_where_it_is_not() -> None:
    option = best_stopped([0.2, 0.97], [0.2, 0.8], costs_of(0.3), 1.0)
    worth_more = EarlyStop(option.bounds, [0.2, 0.97], int).begin()
    assert [worth_more(1), worth_more(1), worth_more(0)] == [True, True, False]
    assert EarlyStop(option.bounds, [0.2, 0.97], int).begin()(1), "each draft begins anew"


def test_a_draft_looks_beyond_a_dear_second_token() -> None:
    """The next token costs more than it gives, but those after it cost next to nothing."""
    costs = [1.0, 1.2, 2.3, *(2.3 + 0.05 * n for n in range(1, 14))]
    option = best_stopped([0.95], [1.0], costs, 1.0)
    assert option.k > 4
    assert EarlyStop(option.bounds, [0.95], int).begin()(0)


def test_a_draft_whose_next_token_never_pays_has_one_token() -> None:
    option = best_stopped([0.5], [1.0], costs_of(0.9), 1.0)
    assert (option.k, option.bounds) == (1, ())
    assert not EarlyStop(option.bounds, [0.5], int).begin()(0)


def test_the_faster_tokens_come_otherwise_the_sooner_a_draft_ends() -> None:
    slow, fast = (best_stopped([0.4, 0.95], [0.3, 0.7], costs_of(0.3), pace) for pace in (0.5, 1.5))
    assert all(one <= other for one, other in zip(slow.bounds, fast.bounds, strict=False))
    assert slow.tokens > fast.tokens
