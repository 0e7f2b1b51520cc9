"""A frozen answer waits in front of its rounds, and whatever is turned meanwhile is heard."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, Queue

import pytest

from specchat.engine_process.open_task import Gate


class Walker:
    """Goes through a gate again and again, in a thread, until it is stopped."""

    def __init__(self, gate: Gate) -> None:
        self.passed: Queue[int] = Queue()
        self._gate = gate
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._walk)
        self._thread.start()

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.passed.get(timeout=600)

    def stands(self) -> bool:
        """Nothing more comes through."""
        try:
            self.passed.get(timeout=0.05)
        except Empty:
            return True
        return False

    def end(self) -> None:
        self._end.set()
        self._gate.stop()
        self._thread.join(600)
        assert not self._thread.is_alive()

    def _walk(self) -> None:
        while not self._end.is_set():
            self._gate.wait()
            self.passed.put(1)
            if self.passed.qsize() > 1000:
                return


@pytest.fixture
def walk(request: pytest.FixtureRequest) -> Callable[[Gate], Walker]:
    def begin(gate: Gate) -> Walker:
        walker = Walker(gate)
        request.addfinalizer(walker.end)
        return walker

    return begin


def test_an_open_gate_lets_every_round_through() -> None:
    gate = Gate()
    for _ in range(3):
        gate.wait()
    gate.step(5)
    assert not gate.holds


def test_a_frozen_gate_lets_as_many_rounds_through_as_were_asked_for(walk: Callable[[Gate], Walker]) -> None:
    gate = Gate()
    gate.begin(frozen=True)
    assert gate.holds
    walker = walk(gate)
    assert walker.stands()
    for rounds in (1, 3):
        gate.step(rounds)
        walker.steps(rounds)
        assert walker.stands()
    gate.step(0)
    gate.step(-2)
    assert walker.stands()


@pytest.mark.parametrize("opened", [lambda gate: gate.freeze(False), Gate.stop, lambda gate: gate.begin(False)])
def test_a_frozen_gate_that_is_opened_lets_all_through(
    walk: Callable[[Gate], Walker], opened: Callable[[Gate], None]
) -> None:
    gate = Gate()
    gate.begin(frozen=True)
    walker = walk(gate)
    opened(gate)
    walker.steps(5)


def test_freezing_again_takes_back_the_steps_that_are_left() -> None:
    gate = Gate()
    gate.begin(frozen=True)
    gate.step(10)
    gate.freeze(True)
    assert gate.holds


def test_an_answer_that_is_to_stop_is_not_frozen_any_more() -> None:
    gate = Gate()
    gate.begin(frozen=False)
    gate.stop()
    gate.freeze(True)
    gate.wait()
    gate.begin(frozen=False)
    gate.freeze(True)
    assert gate.holds, "but the next one may be"
