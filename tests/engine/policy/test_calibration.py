"""Costs are found out in a few passes that leave no trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine.decoding.costs import ENOUGH, PlainCost
from specchat_engine.policy.calibration import measure, plain_passes, try_draft_threads, try_target_threads
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.tables import CostTables
from specchat_engine.testing import ScriptedModel, random_law
from specchat_engine.threads.choice import Trial
from support.threaded import ThreadedScript, shared_out

LAW = random_law(24)


def test_a_few_passes_of_each_model_tell_the_costs_and_are_forgotten() -> None:
    target, draft, controller = ScriptedModel(LAW), ScriptedModel(LAW, max_rows=1), Controller()
    for model in (target, draft):
        model.read([1, 2, 3], lambda: False)
        model.passes.clear()
    steps = sum(1 for _ in measure(target, draft, controller))
    assert (target.passes, draft.passes, steps) == ([1, 1, 2, 4, 8, 16] * 3, [1, 1, 8] * 3, 24)
    assert target.tokens == draft.tokens == [1, 2, 3]
    assert controller.target.at(16, 3) is not None
    assert controller.draft.at(8, 3) is not None


def test_one_can_stop_between_two_passes() -> None:
    target = ScriptedModel(LAW)
    next(measure(target, None, Controller()))
    assert (target.passes, target.tokens) == ([1, 1], [])


def test_passes_that_take_their_time_are_made_once() -> None:
    target, draft = Slow(LAW), ScriptedModel(LAW, max_rows=1)
    list(measure(target, draft, Controller()))
    assert (target.passes, draft.passes) == ([1, 2, 4, 8, 16], [1, 1, 8])


def test_a_plain_pass_behind_a_wide_one_is_made_twice_and_only_the_second_counts() -> None:
    target, controller = Slow(LAW), Controller()
    target.pauses_ms = 3.0, 1.0
    next(measure(target, None, controller))
    assert controller.target.at(1, 0) == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("pauses_ms", "counted"), [((3.0, 1.0), 1.0), ((8.0, 8.0), 8.0)], ids=["quick", "slow"])
def test_the_first_plain_pass_behind_an_answer_counts_only_where_it_was_slow(
    pauses_ms: tuple[float, float], counted: float
) -> None:
    target, cost = Slow(LAW), PlainCost()
    target.pauses_ms = pauses_ms
    told = list(plain_passes(target, 1, 0, cost, lambda: False))
    assert told == pytest.approx([counted] * ENOUGH, abs=0.01)
    assert cost.at(0) == pytest.approx(counted, abs=0.01)
    assert target.passes == [1] * (ENOUGH + (counted < 5))


def test_one_pass_that_was_disturbed_does_not_make_a_model_dear() -> None:
    draft, controller = Slow(LAW, max_rows=1), Controller()
    draft.pauses_ms = 40.0, 1.0
    list(measure(ScriptedModel(LAW), draft, controller))
    assert controller.draft.measured(0)[1] < 2


class Slow(ScriptedModel):
    """Its passes count as taking so many milliseconds, the last number again and again."""

    pauses_ms: Sequence[float] = (30.0,)

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        first, *others = self.pauses_ms
        self.busy_ns += int(first * 1e6)
        self.pauses_ms = others or (first,)
        return super().advance(tokens, rows)


def test_a_width_that_was_seen_as_often_is_not_measured_again() -> None:
    target, controller = ScriptedModel(LAW), Controller()
    for _ in range(3):
        controller.target.observe(1, 0, 2.0)
    controller.target.observe(4, 0, 3.0)
    list(measure(target, None, controller))
    assert target.passes == [2, 8, 16, 2, 4, 8, 16, 2, 4, 8, 16]


def test_no_pass_is_wider_than_the_model_allows() -> None:
    target = ScriptedModel(LAW, capacity=6, max_rows=3)
    list(measure(target, None, Controller()))
    assert set(target.passes) == {1, 2}


def test_thread_counts_of_a_target_take_turns_and_every_pass_leaves_the_model_as_it_was() -> None:
    target, trial = ThreadedScript(shared_out), Trial((4, 2), 4)
    target.threads = 4
    target.read([1, 2, 3], lambda: False)
    target.made.clear()
    for _ in try_target_threads(target, trial, CostTables(slope=0.35)):
        assert (target.threads, target.tokens) == (4, [1, 2, 3])
    assert target.made[:6] == [(1, 4), (1, 4), (5, 4), (1, 2), (1, 2), (5, 2)]
    assert target.made[6:9] == [(1, 2), (1, 2), (5, 2)]
    assert (trial.block, trial.chosen, trial.speeds) == ((), 4, ((4, 1.0), (2, 0.5)))


def test_a_count_that_is_far_behind_makes_no_wide_pass() -> None:
    target, trial = ThreadedScript(shared_out), Trial((8, 4, 1), 8)
    list(try_target_threads(target, trial, CostTables(slope=0.35)))
    assert [width for width, threads in target.made if threads == 1] == [1]
    assert [width for width, threads in target.made if threads == 4] == [1, 1, 5] * 2
    assert trial.speeds == ((8, 1.0), (4, 0.5), (1, 0.125))


def test_passes_that_compare_thread_counts_tell_the_costs_of_each_as_well() -> None:
    target, draft = ThreadedScript(shared_out), ThreadedScript(shared_out, max_rows=1)
    target.threads = draft.threads = 2
    targets, drafts = CostTables(slope=0.35), CostTables(slope=0.15)
    list(try_target_threads(target, Trial((2, 1), 2), targets))
    list(try_draft_threads(target, draft, Trial((2, 1), 2), drafts))
    for threads in (1, 2):
        assert targets.of(threads).measured(0) == pytest.approx({1: 1 / threads, 5: 3 / threads})
        assert drafts.of(threads).measured(0) == pytest.approx({1: 1 / threads, 2: 1 / threads}), "further ones, first"
    assert (targets.of(2).seen(1), targets.of(2).seen(5), targets.of(2).seen(2)) == (2, 2, 0)


def test_one_slow_pass_of_a_count_that_was_timed_decides_nothing() -> None:
    def times(width: int, threads: int) -> float:
        return 50.0 if len(target.made) in (10, 13) else 1.0 if threads == 4 else 0.8

    target, trial = ThreadedScript(times), Trial((4, 2), 4)
    list(try_target_threads(target, trial, CostTables(slope=0.35)))
    assert (len(target.made), trial.chosen) == (30, 2)


def test_a_target_is_judged_by_its_wide_passes_as_well() -> None:
    def times(width: int, threads: int) -> float:
        return 1.0 if width == 1 else 6.0 if threads == 4 else 5.0

    target, trial = ThreadedScript(times), Trial((4, 2), 4)
    list(try_target_threads(target, trial, CostTables(slope=0.35)))
    assert (trial.chosen, trial.speeds) == (2, ((4, 0.857), (2, 1.0)))


@pytest.mark.parametrize(("target_ms", "chosen"), [(1.0, 1), (100.0, 4)])
def test_threads_of_a_draft_model_are_judged_by_the_round_that_they_are_part_of(target_ms: float, chosen: int) -> None:
    target = ThreadedScript(lambda *_: target_ms)
    draft = ThreadedScript(lambda _, threads: 0.1 * threads, max_rows=1)
    target.threads = draft.threads = 4
    trial = Trial((4, 1), 4)
    for _ in try_draft_threads(target, draft, trial, CostTables(slope=0.15)):
        assert (target.tokens, draft.tokens, draft.threads) == ([], [], 4)
    assert draft.made[:10] == [(1, 4)] * 5 + [(1, 1)] * 5
    assert target.made[:2] == [(5, 4), (5, 4)]
    assert trial.chosen == chosen


def test_a_full_memory_ends_a_trial_without_a_choice() -> None:
    target, trial = ThreadedScript(shared_out), Trial((4, 2), 4)
    target.capacity = 3
    assert len(list(try_target_threads(target, trial, CostTables(slope=0.35)))) == 2
    assert (trial.chosen, bool(trial.block)) == (4, True)


def test_costs_are_those_of_the_threads_that_made_the_passes() -> None:
    target, controller = ThreadedScript(shared_out), Controller()
    for threads in (1, 4):
        target.threads = threads
        assert len(list(measure(target, None, controller))) == 15
    for threads, milliseconds in ((1, 1.0), (4, 0.25)):
        controller.use_threads(threads, 0)
        assert controller.target.at(1, 0) == pytest.approx(milliseconds)


def test_what_is_said_between_two_passes_stays_in_the_memory() -> None:
    target = ThreadedScript(shared_out)
    target.read([1, 2, 3], lambda: False)
    steps = measure(target, None, Controller())
    next(steps)
    target.read([1, 2, 3, 4, 5, 6], lambda: False)
    list(steps)
    assert target.tokens == [1, 2, 3, 4, 5, 6]
