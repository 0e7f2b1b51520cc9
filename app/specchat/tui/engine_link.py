"""The way to the engine: threads that wait for it, and messages with what came, as often as drawing them allows."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from time import process_time

from textual.message import Message
from textual.screen import Screen

from specchat.chat.client import EngineClient
from specchat.chat.session import ChatSession, Question
from specchat.settings.options import ChatOptions
from specchat.worker.protocol import ChatMessage, Ended, Event, Loaded, WorkerFailed
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings

SHORTEST, LONGEST = 1 / 20, 1 / 4
SHARE_OF_A_ROUND, LEAST_SHARE, MOST_SHARE = 0.01, 0.03, 0.1
"""Of one core: the engine's threads wait for each other, so that all of them lose what drawing takes from one.

Drawing may take so much for each round that it shows at once, within bounds: a fast answer would come in heaps if it
was drawn as seldom as a slow one may be.
"""


class EngineLink:
    """A clock empties what the thread filled, so a fast model costs no more drawing than a slow one, and the last round
    of a slow one never waits for the next. Where drawing is slow the clock is.

    The clock is the loop's, and what came goes to the screen at once: a timer of Textual's, and a widget that passes
    each message on, took half as much as drawing what it brought.
    """

    class Arrived(Message):
        """Events of the running load or answer, in order; every event arrives once."""

        def __init__(self, events: tuple[Event, ...]) -> None:
            super().__init__()
            self.events = events

    def __init__(self, client: EngineClient, screen: Screen[None]) -> None:
        self._client = client
        self._screen = screen
        self._events: deque[Event] = deque()
        self._last: type[Loaded | Ended] = Loaded
        self._clock: asyncio.TimerHandle | None = None
        self._drawn = 0.0

    def load(self, options: ChatOptions) -> None:
        """Loads the pair."""
        self._fill(Loaded, lambda: self._client.load(options.target, options.draft, options.options))

    def ask(self, question: Question, settings: Settings) -> None:
        """Answers a question; an engine that died is loaded again first."""
        answer = self._client.generate(
            question.messages,
            turn=question.turn,
            attempt=question.attempt,
            seed=question.seed,
            settings=settings,
            prefix=question.prefix,
            frozen=question.frozen,
        )
        self._fill(Ended, lambda: answer)

    def prepare(self, session: ChatSession, settings: Settings, text: str) -> None:
        """Lets the engine read the conversation with a message that is still being written."""
        messages = (*session.conversation.asked(), ChatMessage("user", text))
        self._client.prepare(messages, seed=session.seed, settings=settings)

    def turn(self, settings: Settings) -> None:
        """New settings for the running answer."""
        self._client.set(settings)

    def use_threads(self, options: LoadOptions) -> None:
        """Other thread counts, whatever runs."""
        self._client.use_threads(options)

    def stop(self) -> None:
        """Stops the running load or answer."""
        self._client.cancel()

    def forget(self) -> None:
        """Stops the running answer and drops what it still says."""
        self._client.cancel()
        self._events = deque()
        self._stop_clock()

    def _fill(self, last: type[Loaded | Ended], call: Callable[[], Iterator[Event]]) -> None:
        """A new queue for what a call yields, in a thread of its own; it ends with this event or with WorkerFailed."""
        self._last = last
        self._events = events = deque[Event]()
        self._stop_clock()
        self._drawn = process_time()
        self._set_clock(SHORTEST)

        def fill() -> None:
            for event in call():
                events.append(event)

        self._screen.run_worker(fill, group="engine", thread=True)

    def _set_clock(self, pause: float) -> None:
        self._clock = asyncio.get_running_loop().call_later(pause, self._post)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _post(self) -> None:
        self._clock = None
        if not self._screen.is_running:
            return
        now = process_time()
        arrived = []
        while self._events:
            arrived.append(self._events.popleft())
        pause = pause_after(now - self._drawn, len(arrived))
        self._drawn = now
        if not arrived or not isinstance(arrived[-1], (self._last, WorkerFailed)):
            self._set_clock(pause)
        if arrived:
            self._screen.post_message(self.Arrived(tuple(arrived)))


def pause_after(spent: float, arrived: int) -> float:
    """Seconds until the next batch is drawn.

    `spent` are the seconds of the processor since the last one came, for reading and drawing it; `arrived` is how many
    events there are now.
    """
    share = min(max(arrived * SHARE_OF_A_ROUND, LEAST_SHARE), MOST_SHARE)
    return min(max(spent / share, SHORTEST), LONGEST)
