"""C(1) is told once enough passes near a depth were timed; of other passes what was measured is told, no more."""

from __future__ import annotations

import json

import pytest

from specchat_engine.codec import from_json, to_json
from specchat_engine.decoding.costs import ENOUGH, MeasuredCosts, PlainCost
from specchat_engine.policy.controller import Controller
from support.conversations import ask, conversation, letters


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
