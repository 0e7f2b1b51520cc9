"""What tries of a draft model may cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.tries import Tries

GAINS = st.floats(-20, 20, allow_nan=False)


def afforded(tries: Tries) -> float:
    """The dearest try that it affords, in plain rounds, to a hundredth."""
    return max((cost / 100 for cost in range(2000) if tries.affords(cost / 100)), default=0.0)


def test_several_drafts_may_fail_before_a_draft_model_is_left_alone() -> None:
    tries = Tries()
    failed = 0
    while tries.affords(1.2):
        tries.used(-1.2)
        failed += 1
    assert 3 <= failed <= 5
    tries.rested(20)
    assert not tries.affords(1.2)


def test_a_try_that_gains_pays_for_the_next_one() -> None:
    tries = Tries()
    while tries.affords(1.2):
        tries.used(-1.2)
    tries.used(0.7)
    before = afforded(tries)
    tries.used(0.4)
    assert afforded(tries) == pytest.approx(before + 0.4, abs=0.02)


def test_each_answer_in_vain_lets_the_next_one_try_less_and_one_that_gained_as_much_as_ever() -> None:
    tries, earned = Tries(), []
    for _ in range(6):
        tries.used(-10.0)
        tries.begin()
        poor = tries.budget
        tries.rested(100)
        earned.append(tries.budget - poor)
    assert earned == sorted(earned, reverse=True)
    assert earned[-1] < earned[0] / 3
    tries.used(0.1)
    tries.begin()
    assert tries.in_vain == 0


def test_behind_a_rehearsal_nothing_is_tried_in_one_answer_but_where_it_is_due() -> None:
    tries = Tries()
    tries.rehearsed = True
    assert afforded(tries) > 1, "it tells of the next answer"
    tries.begin()
    assert afforded(tries) == 0
    tries.rested(256)
    assert tries.affords(9.0)
    tries.begin()
    tries.used(0.5)
    assert afforded(tries) > 1


def test_what_it_reads_is_part_of_what_an_answer_gained_and_answers_without_it_tell_nothing() -> None:
    tries = Tries()
    tries.spent(2.0)
    tries.used(1.5)
    tries.begin()
    assert tries.in_vain == 1
    tries.rested(50)
    tries.begin()
    assert tries.in_vain == 1


def test_it_is_tried_in_the_end_whatever_that_costs() -> None:
    tries = Tries()
    tries.rested(255)
    assert not tries.affords(1e6)
    tries.rested(1)
    assert tries.affords(1e6)
    tries.used(-40.0)
    assert not tries.affords(0.1)


@given(st.lists(GAINS))
def test_a_long_answer_never_loses_more_than_three_percent_by_tries(gains: list[float]) -> None:
    """Whatever went before: of so many plain rounds and those that tries may lose."""
    tries = Tries()
    for gain in gains:
        tries.used(gain)
    tries.begin()
    lost = 0.0
    for _ in range(256):
        tries.rested(1)
        if tries.idle < 256 and tries.affords(0.5):
            tries.used(-0.5)
            lost += 0.5
    assert lost <= 0.031 * 256


@given(st.lists(GAINS, max_size=20))
def test_it_is_read_as_it_was_kept(gains: list[float]) -> None:
    tries = Tries()
    for gain in gains:
        tries.used(gain)
        tries.begin()
    again = Tries.from_json(tries.to_json())
    assert again.in_vain == tries.in_vain
    assert again.budget == pytest.approx(tries.budget, abs=1e-3)


def test_an_answer_that_was_under_way_counts_in_what_is_kept() -> None:
    tries = Tries()
    tries.used(-1.0)
    assert Tries.from_json(tries.to_json()).in_vain == 1


@pytest.mark.parametrize("kept", [{"budget": 9.0, "in_vain": 0}, {"budget": float("nan"), "in_vain": 0}])
def test_what_no_budget_can_be_is_refused(kept: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no budget of tries"):
        Tries.from_json(kept)
