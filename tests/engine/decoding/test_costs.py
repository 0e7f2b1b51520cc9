"""C(1) is reported where plain passes in the answer's own state show it; of other passes only what was measured is."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from specchat_engine.codec import from_json, to_json
from specchat_engine.decoding.costs import ENOUGH, MeasuredCosts, PassTimes, PlainCost
from specchat_engine.decoding.drafts import Prospect
from specchat_engine.drafters import ModelDrafter
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.policy import Decision, RoundOutcome, Situation
from specchat_engine.testing import Law, ScriptedModel
from support.controllers import Clock, taught
from support.conversations import ask, conversation, letters
from support.drawn_rounds import made_round

MODEL = ModelDrafter.traits


def observed(*milliseconds: float) -> PlainCost:
    cost = PlainCost()
    for took in milliseconds:
        cost.observe(took, took, took)
    return cost


def test_the_cost_is_unknown_before_two_passes() -> None:
    assert (observed().value, observed(1.0).value, observed(1.0, 1.2).value) == (None, None, pytest.approx(1.1))


def test_passes_are_missing_until_there_are_enough() -> None:
    assert (observed().missing, observed(*[1.0] * ENOUGH).missing, observed(*[1.0] * 99).missing) == (ENOUGH, 0, 0)


def test_passes_that_differ_too_much_give_no_cost() -> None:
    assert observed(*[1.0, 9.0] * 4).value is None
    assert observed(*[1.0, 1.1] * 4).value == pytest.approx(1.05)


def decoded(
    rounds: list[tuple[int, float]], after: list[float], *, got: float = 1.0, got_after: float = 1.0
) -> PassTimes:
    """The passes of an answer: drafted tokens and milliseconds of each, then the plain passes after it.

    Its threads got the share `got` of the processors, and `got_after` after it.
    """
    times = PassTimes(ScriptedModel(letters()), ())
    for index, (drafted, took) in enumerate(rounds):
        event = made_round(drafted, drafted, index=index, ms=(0.0, took, 0.0))
        times.observe(event, event.ms, got * took, after_pause=False)
    for took in after:
        times.plain.observe(took, took, got_after * took)
    return times


def test_plain_passes_count_if_the_machine_was_as_busy_as_during_the_answer() -> None:
    assert decoded([(4, 3.0)] * 20, [2.0] * 8).plain_ms == pytest.approx(2.0)
    assert decoded([(4, 30.0)] * 20, [20.0] * 8, got=0.3, got_after=0.32).plain_ms == pytest.approx(20.0)


@pytest.mark.parametrize(("got", "got_after"), [(0.2, 1.0), (1.0, 0.2)])
def test_plain_passes_of_a_calmer_or_busier_moment_do_not_count(got: float, got_after: float) -> None:
    assert decoded([(4, 3.0)] * 20, [2.0] * 8, got=got, got_after=got_after).plain_ms is None


def test_plain_rounds_of_the_answer_count_but_not_the_first_after_a_draft() -> None:
    assert decoded([(4, 3.0), (0, 9.0), (0, 2.0), (0, 2.0)], []).plain_ms == pytest.approx(2.0)


def test_an_answer_with_two_numbers_of_threads_has_no_plain_cost() -> None:
    model = ScriptedModel(letters())
    times = PassTimes(model, ())
    for index in range(8):
        model.threads = 1 + index // 4
        event = made_round(0, 0, index=index, ms=(0.0, 2.0, 0.0))
        times.observe(event, event.ms, 2.0, after_pause=False)
    assert times.plain_ms is None


def test_rounds_after_a_pause_are_ignored() -> None:
    times = PassTimes(ScriptedModel(letters()), ())
    for index in range(8):
        event = made_round(0, 0, index=index, ms=(0.0, 2.0, 0.0))
        times.observe(event, event.ms, 2.0, after_pause=True)
    assert (times.plain_ms, times.cpu_share) == (None, None)


def test_the_processors_say_nothing_of_a_machine_that_computes_elsewhere() -> None:
    times = PassTimes(ScriptedModel(letters()), (), on_cpu=False)
    for index in range(8):
        event = made_round(0, 0, index=index, ms=(0.0, 2.0, 0.0))
        times.observe(event, event.ms, 0.1, after_pause=False)
    assert (times.plain_ms, times.cpu_share) == (pytest.approx(2.0), None)


def test_the_load_of_an_earlier_answer_does_not_change_the_speed_up_of_this_one(clock: Clock) -> None:
    """`0.13 × plain, 87 % slower`: plain passes from before other programs began, drafted ones from after that."""
    target = Loaded(letters(3, end=-50), clock)
    session = conversation(target, letters(3, end=-50), on_cpu=False)
    ask(session)
    calm = session.stats.speedup
    target.load = 8
    ask(session, "and then?")
    assert calm is not None
    assert session.stats.speedup == pytest.approx(calm, rel=0.1)


class Loaded(ScriptedModel):
    """Its passes take ten milliseconds each, and `load` times as long while other programs use the processors."""

    def __init__(self, law: Law, clock: Clock) -> None:
        super().__init__(law)
        self.clock = clock
        self.load = 1

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        self.busy_ns += self.load * 10_000_000
        self.clock.pass_by(self.load * 10)
        return super().advance(tokens, rows)


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


def test_costs_of_an_earlier_start_are_not_reported_as_measured() -> None:
    before = Controller()
    before.target.observe(1, 100, 2.0)
    assert Controller.from_json(before.to_json()).measured_costs(100) == MeasuredCosts((), None)


def test_the_draft_step_is_what_the_passes_took_and_not_what_lay_between_them() -> None:
    controller = taught(Controller(), 0.1, 0.1)
    situation, decision = Situation(100, 64, {MODEL: Prospect()}), Decision(MODEL, 2, "")
    controller.drafts.clear()
    for _ in range(3):
        controller.learn(situation, decision, RoundOutcome(2, 1, 2, 2, 1.1, 0.8, 7.0, confidence=(0.9, 0.5)))
    assert controller.measured_costs(100).draft_step == 0.4


def test_without_measurements_there_are_no_costs() -> None:
    assert Controller().measured_costs(50) == MeasuredCosts((), None)


def test_the_last_line_of_a_trace_has_the_costs() -> None:
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
    costs = from_json(MeasuredCosts, line["costs"])
    assert to_json(costs) == line["costs"]
    with pytest.raises(ValueError, match="argument"):
        from_json(MeasuredCosts, {"verify": [[1]], "draft_step": None})
