"""Which thread count is taken, given what passes took; and costs that belong to a count."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.controller import Controller
from specchat_engine.policy.cost_model import CostsByThreads
from specchat_engine.threads.choice import BLOCKS, Choice, Trial, try_draft_threads, try_target_threads
from support.threaded import ThreadedScript, shared_out

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
    assert not trial.drops(8, 9.0)
    assert not trial.drops(4, 2.4)
    assert trial.drops(1, 5.0)
    trial.observe({8: 10.0, 4: 11.0})
    assert not trial.drops(4, 9.0)
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
    controller.costs_of("model").by_threads.current.observe(1, 0, 1.0)
    controller.use_threads(4, 1)
    assert not controller.target.measured(0)
    assert controller.costs_of("model").by_threads.current.at(1, 0) == pytest.approx(1.0)
    for _ in range(8):
        controller.target.observe(1, 0, 6.0)
    kept = Controller.from_json(controller.to_json())
    controller.use_threads(2, 1)
    assert controller.target.at(1, 0) == pytest.approx(10.0)
    controller.use_threads(4, 1)
    assert controller.target.at(1, 0) == pytest.approx(6.0)
    assert kept.targets.of(2).at(1, 0) == pytest.approx(10.0)
    assert kept.targets.of(4).at(1, 0) == pytest.approx(6.0)


def test_what_was_learned_before_a_count_was_named_belongs_to_the_first_that_has_no_costs() -> None:
    controller = Controller()
    controller.target.observe(1, 0, 10.0)
    controller.use_threads(2, 0)
    assert controller.target.at(1, 0) == pytest.approx(10.0)
    controller.use_threads(4, 0)
    assert not controller.target.measured(0)


def test_thread_counts_of_a_target_take_turns_and_every_pass_leaves_the_model_as_it_was() -> None:
    target, trial = ThreadedScript(shared_out), Trial((4, 2), 4)
    target.threads = 4
    target.read([1, 2, 3], lambda: False)
    target.made.clear()
    for _ in try_target_threads(target, trial, CostsByThreads()):
        assert (target.threads, target.tokens) == (4, [1, 2, 3])
    assert target.made[:6] == [(1, 4), (1, 4), (5, 4), (1, 2), (1, 2), (5, 2)]
    assert target.made[6:9] == [(1, 2), (1, 2), (5, 2)]
    assert (trial.block, trial.chosen, trial.speeds) == ((), 4, ((4, 1.0), (2, 0.5)))


def test_a_count_that_is_far_behind_makes_no_wide_pass() -> None:
    target, trial = ThreadedScript(shared_out), Trial((8, 4, 1), 8)
    list(try_target_threads(target, trial, CostsByThreads()))
    assert [width for width, threads in target.made if threads == 1] == [1]
    assert [width for width, threads in target.made if threads == 4] == [1, 1, 5] * 2
    assert trial.speeds == ((8, 1.0), (4, 0.5), (1, 0.125))


def test_passes_that_compare_thread_counts_tell_the_costs_of_each_as_well() -> None:
    target, draft = ThreadedScript(shared_out), ThreadedScript(shared_out, max_rows=1)
    target.threads = draft.threads = 2
    targets, drafts = CostsByThreads(), CostsByThreads()
    list(try_target_threads(target, Trial((2, 1), 2), targets))
    list(try_draft_threads(target, draft, Trial((2, 1), 2), drafts))
    for threads in (1, 2):
        assert targets.of(threads).measured(0) == pytest.approx({1: 1 / threads, 5: 3 / threads})
        assert drafts.of(threads).measured(0) == pytest.approx({4: 4 / threads}), "a draft of usual length"
    assert (targets.of(2).seen(1), targets.of(2).seen(5), targets.of(2).seen(2)) == (2, 2, 0)


def test_one_slow_pass_of_a_count_that_was_timed_decides_nothing() -> None:
    def times(width: int, threads: int) -> float:
        return 50.0 if len(target.made) in (10, 13) else 1.0 if threads == 4 else 0.8

    target, trial = ThreadedScript(times), Trial((4, 2), 4)
    list(try_target_threads(target, trial, CostsByThreads()))
    assert (len(target.made), trial.chosen) == (30, 2)


def test_a_target_is_judged_by_its_wide_passes_as_well() -> None:
    def times(width: int, threads: int) -> float:
        return 1.0 if width == 1 else 6.0 if threads == 4 else 5.0

    target, trial = ThreadedScript(times), Trial((4, 2), 4)
    list(try_target_threads(target, trial, CostsByThreads()))
    assert (trial.chosen, trial.speeds) == (2, ((4, 0.857), (2, 1.0)))


@pytest.mark.parametrize(("target_ms", "chosen"), [(1.0, 1), (100.0, 4)])
def test_threads_of_a_draft_model_are_judged_by_the_round_that_they_are_part_of(target_ms: float, chosen: int) -> None:
    target = ThreadedScript(lambda *_: target_ms)
    draft = ThreadedScript(lambda _, threads: 0.1 * threads, max_rows=1)
    target.threads = draft.threads = 4
    trial = Trial((4, 1), 4)
    for _ in try_draft_threads(target, draft, trial, CostsByThreads()):
        assert (target.tokens, draft.tokens, draft.threads) == ([], [], 4)
    assert draft.made[:10] == [(1, 4)] * 5 + [(1, 1)] * 5
    assert target.made[:2] == [(5, 4), (5, 4)]
    assert trial.chosen == chosen


def test_whoever_wants_to_stop_a_trial_waits_for_one_pass_at_most() -> None:
    target, draft = ThreadedScript(shared_out), ThreadedScript(shared_out, max_rows=1)
    for steps, _ in enumerate(try_draft_threads(target, draft, Trial((2, 1), 2), CostsByThreads()), 1):
        assert len(target.made) + len(draft.made) == steps
    assert steps == 6 * 2 * 2, "passes of a round, numbers of threads, blocks"


def test_a_draft_model_that_was_filled_between_two_passes_ends_its_trial_without_a_choice() -> None:
    target, draft, trial = ThreadedScript(shared_out), ThreadedScript(shared_out, max_rows=1), Trial((2, 1), 2)
    for _ in try_draft_threads(target, draft, trial, CostsByThreads()):
        if len(draft.made) == 3:
            draft.capacity = 0
    assert (len(draft.made), bool(trial.block)) == (3, True)


def test_a_full_memory_ends_a_trial_without_a_choice() -> None:
    target, trial = ThreadedScript(shared_out), Trial((4, 2), 4)
    target.capacity = 3
    assert len(list(try_target_threads(target, trial, CostsByThreads()))) == 2
    assert (trial.chosen, bool(trial.block)) == (4, True)
