"""Which thread count is taken, given what passes took; and costs that belong to a count."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.controller import Controller
from specchat_engine.threads.choice import BLOCKS, Choice, Trial

DAY = date(2026, 3, 1)


def tried(trial: Trial, milliseconds: Callable[[int, int], float]) -> Trial:
    """A trial to its end, where a count takes so long in a block."""
    for block in range(BLOCKS + 1):
        counts = trial.block
        if counts:
            trial.observe({count: milliseconds(count, block) for count in counts})
    return trial


def test_a_count_that_is_clearly_faster_is_taken() -> None:
    trial = tried(Trial((8, 4, 1), 8), lambda count, _: {8: 10.0, 4: 9.0, 1: 20.0}[count])
    assert trial.chosen == 4
    assert trial.speeds == ((8, 0.9), (4, 1.0), (1, 0.45))


def test_of_two_clearly_faster_ones_the_faster_is_taken() -> None:
    assert tried(Trial((8, 4, 2, 1), 8), lambda count, _: {8: 10.0, 4: 9.0, 2: 8.0, 1: 9.9}[count]).chosen == 2


@pytest.mark.parametrize(("other", "chosen"), [(9.65, 1), (9.75, 2), (10.0, 2), (10.5, 2)])
def test_a_gain_of_less_than_three_per_cent_changes_nothing(other: float, chosen: int) -> None:
    assert tried(Trial((2, 1), 2), lambda count, _: 10.0 if count == 2 else other).chosen == chosen


def test_a_drifting_machine_is_judged_block_by_block() -> None:
    trial = tried(Trial((2, 1), 2), lambda count, block: (10.0 if count == 2 else 9.0) * 3**block)
    assert (trial.chosen, trial.speeds) == (1, ((2, 0.9), (1, 1.0)))


def test_one_block_in_which_it_was_not_faster_keeps_the_count() -> None:
    assert tried(Trial((2, 1), 2), lambda count, block: 10.0 if count == 2 else 5.0 + 5.1 * (block == 3)).chosen == 2


def test_noise_of_a_tenth_seldom_changes_a_count() -> None:
    chance = random.Random(3)
    changed = sum(tried(Trial((2, 1), 2), lambda *_: chance.gauss(10, 1)).chosen == 1 for _ in range(2000))
    assert changed < 0.05 * 2000


def test_a_hopeless_count_is_dropped_after_two_blocks_and_the_others_go_on() -> None:
    timed: list[int] = []

    def milliseconds(count: int, _: int) -> float:
        timed.append(count)
        return {8: 10.0, 4: 9.0, 1: 60.0}[count]

    trial = tried(Trial((8, 4, 1), 8), milliseconds)
    assert (timed.count(8), timed.count(4), timed.count(1)) == (BLOCKS, BLOCKS, 2)
    assert trial.speeds[-1] == (1, 0.15)


def test_a_count_whose_first_pass_took_far_too_long_is_left_behind_and_told() -> None:
    trial = Trial((8, 4, 1), 8)
    assert not trial.leaves_behind(8, 9.0)
    assert not trial.leaves_behind(4, 2.4)
    assert trial.leaves_behind(1, 5.0)
    trial.observe({8: 10.0, 4: 11.0})
    assert not trial.leaves_behind(4, 9.0)
    assert tried(trial, lambda count, _: {8: 10.0, 4: 11.0}[count]).speeds == ((8, 1.0), (4, 0.909), (1, 0.2))


def test_counts_take_turns_in_changing_order_and_one_alone_is_not_timed() -> None:
    trial = Trial((4, 2), 4)
    first = trial.block
    trial.observe(dict.fromkeys(first, 1.0))
    assert (first, trial.block) == ((4, 2), (2, 4))
    assert (Trial((1,), 1).block, Trial((1,), 1).chosen) == ((), 1)


def test_the_count_in_force_takes_part_although_it_is_no_candidate() -> None:
    assert Trial((4, 2, 1), 3).block == (3, 4, 2, 1)


@given(st.lists(st.lists(st.floats(0.1, 100), min_size=3, max_size=3), min_size=BLOCKS, max_size=BLOCKS))
def test_what_is_taken_was_faster_in_every_block(times: list[list[float]]) -> None:
    counts = (4, 2, 1)
    trial = tried(Trial(counts, 4), lambda count, block: times[block][counts.index(count)])
    if trial.chosen != 4:
        assert all(row[counts.index(trial.chosen)] < row[0] for row in times)
    assert dict(trial.speeds)[trial.chosen] == 1.0


def test_a_choice_says_why_and_survives_being_kept() -> None:
    choice = Choice.of(tried(Trial((2, 1), 2), lambda count, _: 1.0 if count == 2 else 1.2), DAY)
    assert str(choice) == "2 threads: 1.00, 1 thread: 0.83 of its speed, measured on 2026-03-01"
    assert Choice.from_json(choice.to_json()) == choice


def test_a_choice_is_looked_at_again_after_a_week() -> None:
    choice = Choice(2, ((2, 1.0),), "2026-03-01")
    assert choice.is_fresh(date(2026, 3, 7))
    assert not choice.is_fresh(date(2026, 3, 8))
    assert not choice.is_fresh(date(2026, 2, 27))


def test_costs_belong_to_a_thread_count_and_come_back_with_it() -> None:
    controller = Controller()
    controller.use_threads(2, 1)
    controller.target.observe(1, 0, 10.0)
    controller.draft.observe(1, 0, 1.0)
    controller.use_threads(4, 1)
    assert controller.target.at(1, 0) is None
    assert controller.draft.at(1, 0) == pytest.approx(1.0)
    controller.target.observe(1, 0, 6.0)
    kept = Controller.from_json(controller.to_json())
    for known in (controller, kept):
        known.use_threads(2, 1)
        assert known.target.at(1, 0) == pytest.approx(10.0)
        known.use_threads(4, 1)
        assert known.target.at(1, 0) == pytest.approx(6.0)


def test_what_was_learned_before_a_count_was_named_belongs_to_the_first_that_has_no_costs() -> None:
    controller = Controller()
    controller.target.observe(1, 0, 10.0)
    controller.use_threads(2, 0)
    assert controller.target.at(1, 0) == pytest.approx(10.0)
    controller.use_threads(4, 0)
    assert controller.target.at(1, 0) is None
