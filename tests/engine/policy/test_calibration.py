"""Costs are found out in a few passes that leave no trace."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine.decoding.costs import ENOUGH, PassTimes
from specchat_engine.decoding.drafts import Context
from specchat_engine.policy.calibration import measure, measure_plain
from specchat_engine.policy.controller import Controller
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.testing import ScriptedModel, random_law
from support.threaded import ThreadedScript, shared_out

LAW = random_law(24)


def test_calibration_makes_a_few_passes_of_each_model_and_removes_them() -> None:
    target, draft, controller = ScriptedModel(LAW), ScriptedModel(LAW, max_rows=1), Controller()
    for model in (target, draft):
        model.read([1, 2, 3], lambda: False)
        model.passes.clear()
    steps = sum(1 for _ in measure(target, draft, controller))
    assert (target.passes, draft.passes, steps) == ([1, 1, 2, 4, 8, 16, 3, 12, 32] * 3, [1] * 5 * 3, 42)
    assert target.tokens == draft.tokens == [1, 2, 3]
    assert controller.target.at(16, 3) is not None
    assert controller.costs_of("model").by_threads.current.seen(4) == 3


def test_one_can_stop_between_two_passes() -> None:
    target = ScriptedModel(LAW)
    next(measure(target, None, Controller()))
    assert (target.passes, target.tokens) == ([1], [])


def test_whoever_wants_to_stop_waits_for_one_pass_at_most() -> None:
    target, draft = ScriptedModel(LAW), ScriptedModel(LAW, max_rows=1)
    for steps, _ in enumerate(measure(target, draft, Controller()), 1):
        assert len(target.passes) + len(draft.passes) == steps
        assert target.tokens == draft.tokens == []


def test_a_draft_model_that_has_read_on_until_it_is_full_is_measured_no_more() -> None:
    target, draft, controller = ScriptedModel(LAW), ScriptedModel(LAW, max_rows=1, capacity=4), Controller()
    for _ in measure(target, draft, controller):
        if len(draft.passes) == 3:
            draft.read([1, 2, 3, 4], lambda: False)
            draft.passes.clear()
    costs = controller.costs_of("model").by_threads.current
    assert (draft.passes, costs.seen(1), costs.seen(4)) == ([], 1, 0)


def test_slow_passes_are_made_once() -> None:
    target, draft = Slow(LAW), ScriptedModel(LAW, max_rows=1)
    list(measure(target, draft, Controller()))
    assert (target.passes, draft.passes) == ([1, 1, 2, 4, 8, 16, 3, 12, 32], [1] * 5)


def test_a_plain_pass_after_a_wide_one_is_made_twice_and_only_the_second_counts() -> None:
    target, controller = Slow(LAW), Controller()
    target.pauses_ms = 3.0, 1.0
    steps = measure(target, None, controller)
    next(steps)
    next(steps)
    assert controller.target.at(1, 0) == pytest.approx(1.0, abs=0.01)


def test_the_first_plain_pass_after_an_answer_does_not_count() -> None:
    target, controller = Slow(LAW), Controller()
    target.pauses_ms = 3.0, 1.0
    times, context = PassTimes(target, ()), Context([1, 2], 1, Sampler(SamplingParams(), 1))
    measure_plain(target, context, times, controller.target, 100.0, lambda: False)
    assert times.plain.value == pytest.approx(1.0, abs=0.01)
    assert controller.target.at(1, 0) == pytest.approx(1.0, abs=0.01)
    assert (target.passes, target.tokens) == ([1] * (ENOUGH + 1), [])


def test_one_disturbed_pass_does_not_make_a_model_expensive() -> None:
    draft, controller = Slow(LAW, max_rows=1), Controller()
    draft.pauses_ms = 40.0, 1.0
    list(measure(ScriptedModel(LAW), draft, controller))
    assert controller.costs_of("model").by_threads.current.measured(0)[1] < 2


def test_passes_that_other_programs_disturbed_are_measured_again() -> None:
    target, controller = Slow(LAW), Controller()
    target.pauses_ms = 1.0, 1.0, 1.5, 700.0, 2.0, 3.0, 1.0
    list(measure(target, None, controller))
    assert controller.target.measured(0)[4] == pytest.approx(700, abs=1)
    target.passes.clear()
    target.pauses_ms = (1.8,)
    list(measure(target, None, controller))
    assert 4 in target.passes
    assert controller.target.measured(0)[4] == pytest.approx(1.8, abs=0.1)


class Slow(ScriptedModel):
    """Its passes count as taking so many milliseconds, the last number again and again."""

    pauses_ms: Sequence[float] = (30.0,)

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        first, *others = self.pauses_ms
        self.busy_ns += int(first * 1e6)
        self.pauses_ms = others or (first,)
        return super().advance(tokens, rows)


def test_a_width_with_enough_times_is_not_measured_again() -> None:
    target, controller = ScriptedModel(LAW), Controller()
    for _ in range(3):
        controller.target.observe(1, 0, 2.0)
    controller.target.observe(4, 0, 3.0)
    list(measure(target, None, controller))
    assert target.passes == [2, 8, 16, 3, 12, 32] + [2, 4, 8, 16, 3, 12, 32] * 2


def test_no_pass_is_wider_than_the_model_allows() -> None:
    target = ScriptedModel(LAW, capacity=6, max_rows=3)
    list(measure(target, None, Controller()))
    assert set(target.passes) == {1, 2, 3}


def test_costs_are_those_of_the_threads_that_made_the_passes() -> None:
    target, controller = ThreadedScript(shared_out), Controller()
    for threads in (1, 4):
        target.threads = threads
        assert len(list(measure(target, None, controller))) == 27
    for threads, milliseconds in ((1, 1.0), (4, 0.25)):
        controller.use_threads(threads, 0)
        assert controller.target.at(1, 0) == pytest.approx(milliseconds)


def test_an_answer_between_two_calibration_passes_stays_in_memory() -> None:
    target = ThreadedScript(shared_out)
    target.read([1, 2, 3], lambda: False)
    steps = measure(target, None, Controller())
    next(steps)
    target.read([1, 2, 3, 4, 5, 6], lambda: False)
    list(steps)
    assert target.tokens == [1, 2, 3, 4, 5, 6]
