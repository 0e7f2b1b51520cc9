"""Costs are found out in a few passes that leave no trace."""

from __future__ import annotations

from specchat_engine.control.controller import Controller
from specchat_engine.measuring import measure
from specchat_engine.testing import ScriptedModel, random_law

LAW = random_law(24)


def test_a_few_passes_of_each_model_tell_the_costs_and_are_forgotten() -> None:
    target, draft, controller = ScriptedModel(LAW), ScriptedModel(LAW, max_rows=1), Controller()
    for model in (target, draft):
        model.read([1, 2, 3], lambda: False)
        model.passes.clear()
    steps = sum(1 for _ in measure(target, draft, controller))
    assert (target.passes, draft.passes, steps) == ([1, 2, 4, 8, 16], [1, 8], 7)
    assert target.tokens == draft.tokens == [1, 2, 3]
    assert controller.target.at(16, 3) is not None
    assert controller.draft.at(8, 3) is not None


def test_one_can_stop_between_two_passes() -> None:
    target = ScriptedModel(LAW)
    next(measure(target, None, Controller()))
    assert (target.passes, target.tokens) == ([1], [])


def test_a_width_that_is_known_already_is_not_measured_again() -> None:
    target, controller = ScriptedModel(LAW), Controller()
    controller.target.observe(1, 0, 2.0)
    controller.target.observe(4, 0, 3.0)
    list(measure(target, None, controller))
    assert target.passes == [2, 8, 16]


def test_no_pass_is_wider_than_the_model_allows() -> None:
    target = ScriptedModel(LAW, capacity=6, max_rows=3)
    assert sum(1 for _ in measure(target, None, Controller())) == 2
