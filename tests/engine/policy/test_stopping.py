"""A draft ends where no further token is expected to be worth its time."""

from __future__ import annotations

import math
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.acceptance import confidence_class
from specchat_engine.policy.stopping import EarlyStop, bounds_of

K = 16
shares = st.lists(st.floats(0.01, 1), min_size=K, max_size=K)
costs = st.lists(st.floats(0, 1), min_size=K + 1, max_size=K + 1).map(
    lambda steps: [0.0, *accumulate(steps, initial=1)]
)


@given(shares, costs, st.floats(0, 0.5), st.floats(0.1, 3))
def test_a_bound_is_where_some_longer_draft_begins_to_pay(
    stands: list[float], verify_ms: list[float], step_ms: float, pace: float
) -> None:
    """From the definition: reach × the tokens to expect of so many more, against what their time is worth."""
    bounds = bounds_of(K, stands, verify_ms, step_ms, pace)
    assert len(bounds) == K
    for drafted, bound in enumerate(bounds, 1):
        pays = []
        for ahead in (1, 2, 4, 8, K - drafted):
            if 0 < ahead <= K - drafted:
                tokens = sum(math.prod(stands[drafted : drafted + more]) for more in range(1, ahead + 1))
                spent = ahead * step_ms + verify_ms[drafted + ahead + 1] - verify_ms[drafted + 1]
                pays.append(pace * spent / tokens)
        assert bound == pytest.approx(min(pays, default=1.0))


def test_a_draft_goes_on_where_only_its_end_is_cheap() -> None:
    """A pass over sixteen tokens of four bits takes less time than one over eleven to fifteen."""
    verify_ms = [0.0, *(0.3 + 0.7 * width for width in range(1, 16)), 8.8, 9.5]
    assert max(bounds_of(15, [0.99] * 15, verify_ms, 0.07, 1.3)[:-1]) < 0.9


def test_behind_the_last_token_nothing_is_worth_more() -> None:
    assert bounds_of(3, [1.0] * 3, [0.0, 1.0, 1.0, 1.0, 1.0], 0.0, 1.0)[-1] == 1


def test_a_draft_goes_on_while_all_of_it_is_likely_to_stand() -> None:
    stop = EarlyStop([0.5, 0.5, 0.5], [0.9] * 20)
    assert confidence_class(0.7) < 20
    worth_more = stop.begin()
    assert [worth_more(0.7) for _ in range(4)] == [True, True, True, False]
    doubtful = EarlyStop([0.5, 0.5], [0.4] * 20).begin()
    assert not doubtful(0.7)
