"""Step mode with the real engine process: a frozen answer makes the rounds that it is asked for, and no others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from queue import Empty, Queue

from app.engine_process.conftest import ENDLESS, HELLO, asked, last_of, only, process_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import Ended, Event, Generate, Inspect, Inspected, Started, TaskFailed
from specchat_engine import Settings
from specchat_engine.decoding.rounds import Round

SHORT = Settings(k=2, max_tokens=24)
SILENCE = 0.3


class Listener:
    """Reads an answer's events in a thread."""

    def __init__(self, events: Iterator[Event]) -> None:
        self._came: Queue[Event | None] = Queue()
        self._thread = threading.Thread(target=self._listen, args=(events,))
        self._thread.start()

    def next(self) -> Event | None:
        """The next event; None at the end."""
        return self._came.get(timeout=600)

    def rounds(self, count: int) -> list[Round]:
        """The next events, which have to be rounds."""
        came = [self.next() for _ in range(count)]
        rounds = [event for event in came if isinstance(event, Round)]
        assert len(rounds) == count
        return rounds

    def rest(self) -> list[Event]:
        """All that comes until the end."""
        events: list[Event] = []
        while (event := self.next()) is not None:
            events.append(event)
        self._thread.join(600)
        return events

    def silent(self) -> bool:
        """Nothing comes of itself."""
        try:
            self._came.get(timeout=SILENCE)
        except Empty:
            return True
        return False

    def _listen(self, events: Iterator[Event]) -> None:
        for event in events:
            self._came.put(event)
        self._came.put(None)


def answer(client: LocalClient, settings: Settings) -> Listener:
    return Listener(asked(client, Generate(HELLO, seed=7, settings=settings)))


def frozen(client: LocalClient, settings: Settings) -> Listener:
    """An answer that has started and waits for its first step."""
    heard = Listener(asked(client, Generate(HELLO, seed=7, settings=settings, frozen=True)))
    assert isinstance(heard.next(), Started)
    return heard


def test_a_frozen_answer_starts_and_waits_for_each_step(loaded: LocalClient) -> None:
    plain = text_of(answer(loaded, SHORT).rest())
    began = time.perf_counter()
    heard = frozen(loaded, SHORT)
    assert heard.silent()
    loaded.step()
    first = heard.rounds(1)
    assert heard.silent()
    loaded.step(2)
    more = heard.rounds(2)
    assert heard.silent()
    loaded.freeze(False)
    events = heard.rest()
    assert text_of(events) == plain
    assert [event.index for event in (*first, *more)] == [0, 1, 2]
    end = events[-1]
    assert isinstance(end, Ended)
    awake_ms = (time.perf_counter() - began - SILENCE) * 1000  # two of the waits are for what a busy machine delays
    assert end.stats["other_ms"] + end.stats["draft_ms"] + end.stats["verify_ms"] < awake_ms
    assert end.stats["ttft_ms"] <= end.stats["wall_ms"] < awake_ms, "what it waited belongs to no round"


def test_an_answer_freezes_in_mid_stream_and_new_settings_count_for_the_next_step(loaded: LocalClient) -> None:
    heard = answer(loaded, ENDLESS)
    assert isinstance(heard.next(), Started)
    heard.rounds(2)
    loaded.freeze(True)
    while not heard.silent():
        pass
    loaded.set(replace(ENDLESS, k=0))
    loaded.step(2)
    (first,) = heard.rounds(1)
    while first.k:  # it was under way for longer than the silence
        (first,) = heard.rounds(1)
    assert [event.k for event in heard.rounds(1)] == [0]
    assert heard.silent()
    loaded.cancel()
    end = heard.rest()[-1]
    assert isinstance(end, Ended)
    assert end.reason == "cancelled"


def test_a_cancel_ends_a_frozen_answer(loaded: LocalClient) -> None:
    heard = frozen(loaded, ENDLESS)
    loaded.cancel()
    loaded.freeze(True)
    events = heard.rest()
    assert isinstance(events[-1], Ended)
    assert events[-1].reason == "cancelled"
    assert not [event for event in events if isinstance(event, Round)]
    assert text_of(answer(loaded, SHORT).rest()), "the next one is not frozen"


def test_closing_ends_a_frozen_answer(own: LocalClient) -> None:
    heard = frozen(own, ENDLESS)
    own.close()
    assert isinstance(heard.rest()[-1], Ended | TaskFailed)


def test_a_process_killed_while_an_answer_is_frozen_is_one_failure(own: LocalClient) -> None:
    heard = frozen(own, ENDLESS)
    process_of(own).kill()
    failure = only(TaskFailed, heard.rest())
    assert failure.died


def test_nothing_is_inspected_while_a_frozen_answer_waits(loaded: LocalClient) -> None:
    heard = frozen(loaded, SHORT)
    refused = Listener(loaded.inspect(Inspect(HELLO, (5, 6), 0, seed=7, settings=SHORT))).next()
    assert isinstance(refused, TaskFailed)
    assert not refused.died
    assert "when it has ended" in refused.message
    loaded.freeze(False)
    heard.rest()
    assert last_of(Inspected, loaded.inspect(Inspect(HELLO, (5, 6), 0, seed=7, settings=SHORT)))


def test_freezing_while_no_answer_runs_does_nothing(loaded: LocalClient) -> None:
    loaded.freeze(True)
    loaded.step()
    assert len(text_of(answer(loaded, SHORT).rest())) > 0


def test_settings_that_are_set_before_the_answer_is_heard_of_count_from_its_first_round(loaded: LocalClient) -> None:
    waiting = loaded.generate(Generate(HELLO, seed=7, settings=ENDLESS, frozen=True))
    loaded.set(replace(ENDLESS, k=0))
    assert isinstance(next(waiting), Started)
    loaded.step()
    first = next(waiting)
    assert isinstance(first, Round)
    assert (first.k, first.reason) == (0, "k is 0")
    loaded.cancel()
    list(waiting)
    following = loaded.generate(Generate(HELLO, seed=7, settings=SHORT))
    rounds = [event for event in following if isinstance(event, Round)]
    assert rounds[0].k == SHORT.k, "what was set for one answer is not set for the next"
