"""An answer that is held before a round, as step mode does, costs what it cost without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from specchat_engine import Session
from specchat_engine.policy.controller import Controller
from specchat_engine.testing import ScriptedModel
from support.controllers import Clock, knowing
from support.conversations import ask, conversation, letters

HELD_MS = 5000.0


def speaking(hold: Callable[[], None] | None, controller: Controller, k: int | str) -> Session:
    """A session that is held so before each of its rounds."""
    target, draft = ScriptedModel(letters(3, end=-50)), letters(3, end=-50, order=1)
    session = conversation(target, draft, max_tokens=8, controller=controller, k=k, on_cpu=False)
    session.hold = hold
    return session


@pytest.mark.parametrize("k", [0, 3])
def test_the_time_that_an_answer_is_held_belongs_to_no_round(clock: Clock, k: int) -> None:
    session = speaking(partial(clock.pass_by, HELD_MS), Controller(), k)
    rounds = list(session.generate("hello"))
    assert clock.now > len(rounds) * HELD_MS * 1e6
    assert all(event.ms.other < 1 for event in rounds)
    assert session.stats.other_ms < 1
    assert 0 < session.stats.ttft_ms <= session.stats.wall_ms < 2
    assert rounds[-1].t_ms == session.stats.wall_ms >= session.stats.decode_ms


def test_the_controller_hears_nothing_of_it(clock: Clock) -> None:
    heard = []
    for hold in (None, partial(clock.pass_by, HELD_MS)):
        controller = knowing(0.05, 0.05)
        ask(speaking(hold, controller, "auto"))
        heard.append([outcome.other_ms for _, outcome in controller.learned])
    assert heard[0] == pytest.approx(heard[1], abs=0.01)
    assert len(heard[0]) > 1


@pytest.mark.parametrize("rests", [False, True])
def test_times_of_rounds_after_a_pause_are_passed_on_to_nobody(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, rests: bool
) -> None:
    """Threads that slept wake up slowly: such a round says nothing of the next one, nor that others crowd the cores."""
    monkeypatch.setattr("specchat_engine.session.measure_plain", lambda *_: None)
    hold = partial(clock.pass_by, HELD_MS) if rests else lambda: None
    controller = knowing(0.05, 0.05)
    seen = [controller.target.seen(width) for width in range(1, 9)]
    reported: list[object] = []
    for k in ("auto", 0):
        session = speaking(hold, controller, k)
        session.settings = replace(session.settings, max_tokens=40)
        session.pair.passed = lambda _, passes: reported.extend(passes)
        rounds = list(session.generate("hello hello hello"))
        assert len(rounds) > 1
    assert controller.learned, "what was accepted counts"
    assert ([controller.target.seen(width) for width in range(1, 9)] == seen) is rests
    assert (reported == []) is rests
    assert (session.stats.plain_ms is None) is rests


def test_a_pause_affects_only_the_round_after_it(clock: Clock) -> None:
    session = speaking(partial(clock.pass_by, HELD_MS), knowing(0.05, 0.05), 0)
    session.settings = replace(session.settings, max_tokens=40)
    reported: list[object] = []
    session.pair.passed = lambda _, passes: reported.extend(passes)
    for event in session.generate("hello"):
        if event.index == 3:
            session.hold = None
    assert len(reported) > 30


def test_what_is_set_while_an_answer_is_held_counts_for_the_next_round() -> None:
    session = conversation(letters(3, end=-50), letters(3, end=-50), k=4, max_tokens=40)
    waits: list[int] = []

    def hold() -> None:
        waits.append(len(session.answer_ids))
        if len(waits) == 3:
            session.settings = replace(session.settings, k=1)

    session.hold = hold
    rounds = list(session.generate("hello"))
    assert [event.k for event in rounds[:4]] == [4, 4, 1, 1]
    assert waits[:2] == [0, rounds[0].num_emitted]
    assert len(waits) == len(rounds)


def test_a_cancel_while_an_answer_is_held_ends_it_before_that_round() -> None:
    session = conversation(letters(3, end=-50), max_tokens=40)
    waits: list[int] = []

    def hold() -> None:
        waits.append(1)
        if len(waits) == 3:
            session.cancel()

    session.hold = hold
    assert len(list(session.generate("hello"))) == 2
    assert session.end_reason == "cancelled"
