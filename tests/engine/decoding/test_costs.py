"""C(1) is told once enough passes near a depth were timed; of other passes what was measured is told, no more."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.codec import from_json, to_json
from specchat_engine.decoding.costs import ENOUGH, MeasuredCosts, PlainCost
from specchat_engine.decoding.drafts import Prospect
from specchat_engine.drafters import ModelDrafter
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.situation import Decision, Outcome, Situation
from support.controllers import taught
from support.conversations import ask, conversation, letters

MODEL = ModelDrafter.traits


def test_the_cost_is_unknown_before_enough_passes() -> None:
    cost = PlainCost()
    for count in range(ENOUGH - 1):
        cost.observe(100, 1.0)
        assert (cost.at(100), cost.missing(100)) == (None, ENOUGH - 1 - count)
    cost.observe(100, 1.0)
    assert (cost.at(100), cost.missing(100)) == (1.0, 0)


def test_one_slow_pass_does_not_move_the_measure() -> None:
    cost = PlainCost()
    for _ in range(ENOUGH):
        cost.observe(100, 2.0)
    cost.observe(100, 500.0)
    assert cost.at(100) == 2.0


def test_passes_at_another_depth_do_not_count() -> None:
    cost = PlainCost()
    for _ in range(ENOUGH):
        cost.observe(100, 1.0)
        cost.observe(8000, 4.0)
    assert (cost.at(200), cost.at(7000), cost.at(3000)) == (1.0, 4.0, None)


def test_old_passes_are_forgotten() -> None:
    cost = PlainCost(keep=10)
    for milliseconds in [9.0] * 10 + [1.0] * 10:
        cost.observe(10, milliseconds)
    assert cost.at(10) == 1.0


def test_costs_have_only_the_widths_that_were_measured() -> None:
    controller = Controller()
    for width, milliseconds in ((1, 1.0), (4, 1.5)):
        for _ in range(15):
            controller.target.observe(width, 100, milliseconds)
    for _ in range(15):
        controller.target.observe(4, 8000, 6.0)
        controller.costs_of("model").by_threads.current.observe(4, 100, 1.0)
    shallow, deep = controller.measured_costs(50), controller.measured_costs(8000)
    assert [width for width, _ in shallow.verify] == [1, 4]
    assert dict(shallow.verify)[4] / dict(shallow.verify)[1] == pytest.approx(1.5)
    assert [width for width, _ in deep.verify] == [4]
    assert shallow.draft_step == pytest.approx(0.25)


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from([100, 3000]), st.floats(0.5, 50.0)), max_size=60))
def test_costs_are_times_that_some_pass_took(passes: list[tuple[int, int, float]]) -> None:
    controller = Controller()
    for width, depth, milliseconds in passes:
        controller.target.observe(width, depth, milliseconds)
        controller.costs_of("model").by_threads.current.observe(width, depth, milliseconds)
    for depth in (100, 3000):
        costs = controller.measured_costs(depth)
        assert {(width, ms) for width, ms in costs.verify} <= {(width, ms) for width, _, ms in passes}
        assert costs.draft_step in {None, *(ms / width for width, _, ms in passes)}


def test_costs_of_an_earlier_start_are_not_told_as_measured() -> None:
    before = Controller()
    before.target.observe(1, 100, 2.0)
    assert Controller.from_json(before.to_json()).measured_costs(100) == MeasuredCosts((), None)


def test_the_draft_step_is_what_the_passes_took_and_not_what_lay_between_them() -> None:
    controller = taught(Controller(), 0.1, 0.1)
    situation, decision = Situation(100, 64, {MODEL: Prospect()}), Decision(MODEL, 2, "")
    controller.drafts.clear()
    for _ in range(3):
        controller.learn(situation, decision, Outcome(2, 1, 2, 2, 1.1, 0.8, 7.0, confidence=(0.9, 0.5)))
    assert controller.measured_costs(100).draft_step == 0.4


def test_without_measurements_there_are_no_costs() -> None:
    assert Controller().measured_costs(50) == MeasuredCosts((), None)


def test_the_last_line_of_a_trace_tells_the_costs() -> None:
    controller = Controller()
    session = conversation(letters(3, end=-50), letters(3, end=-50), k="auto", controller=controller)
    assert session.end_line()["costs"] == {"verify": [], "draft_step": None}
    ask(session)
    line = json.loads(json.dumps(session.end_line()))
    widths = [width for width, _ in line["costs"]["verify"]]
    assert widths == [width for width in range(1, 40) if controller.target.seen(width)]
    assert len(widths) > 1
    assert all(milliseconds > 0 for _, milliseconds in line["costs"]["verify"])
    assert line["costs"]["draft_step"] > 0
    told = from_json(MeasuredCosts, line["costs"])
    assert to_json(told) == line["costs"]
    with pytest.raises(ValueError, match="argument"):
        from_json(MeasuredCosts, {"verify": [[1]], "draft_step": None})
