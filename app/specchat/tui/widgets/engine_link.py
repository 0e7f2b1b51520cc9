"""The way to the engine: threads that wait for it, and messages with what came, as often as drawing them allows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time

from textual import work
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget

from specchat.chat.client import EngineClient
from specchat.chat.session import ChatSession, Question
from specchat.options import ChatOptions
from specchat.worker.protocol import ChatMessage, Ended, Event, Loaded, WorkerFailed
from specchat_engine.options import LoadOptions
from specchat_engine.settings import Settings

SHORTEST, LONGEST = 1 / 20, 1 / 4
DRAWING_SHARE = 0.1
"""Of one core: the engine's threads wait for each other, so that all of them lose what drawing takes from one."""


class EngineLink(Widget):
    """Unseen. A clock empties what the thread filled, so a fast model costs no more drawing than a slow one,
    and the last round of a slow one never waits for the next. Where drawing is slow the clock is."""

    DEFAULT_CSS = "EngineLink { display: none; }"

    @dataclass
    class Arrived(Message):
        """Events of the running load or answer, in order; every event arrives once."""

        events: tuple[Event, ...]

    def __init__(self, client: EngineClient) -> None:
        super().__init__()
        self._client = client
        self._events: deque[Event] = deque()
        self._last: type[Loaded | Ended] = Loaded
        self._clock: Timer | None = None
        self._drawn = 0.0

    def load(self, options: ChatOptions) -> None:
        """Loads the pair."""
        self._read_models(self._begin(Loaded), options)

    def ask(self, question: Question, settings: Settings) -> None:
        """Answers a question; an engine that died is loaded again first."""
        self._answer(self._begin(Ended), question, settings)

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

    def _begin(self, last: type[Loaded | Ended]) -> deque[Event]:
        """A new queue for a call that ends with this event, or with WorkerFailed."""
        self._last = last
        self._events = deque()
        self._stop_clock()
        self._drawn = process_time()
        self._clock = self.set_timer(SHORTEST, self._post)
        return self._events

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None

    def _post(self) -> None:
        now = process_time()
        pause = pause_after(now - self._drawn)
        self._drawn = now
        arrived = []
        while self._events:
            arrived.append(self._events.popleft())
        ended = bool(arrived) and isinstance(arrived[-1], (self._last, WorkerFailed))
        self._clock = None if ended else self.set_timer(pause, self._post)
        if arrived:
            self.post_message(self.Arrived(tuple(arrived)))

    @work(thread=True, group="engine")
    def _read_models(self, events: deque[Event], options: ChatOptions) -> None:
        _fill(events, self._client.load(options.target, options.draft, options.options))

    @work(thread=True, group="engine")
    def _answer(self, events: deque[Event], question: Question, settings: Settings) -> None:
        asked = self._client.generate(
            question.messages,
            turn=question.turn,
            attempt=question.attempt,
            seed=question.seed,
            settings=settings,
            prefix=question.prefix,
            frozen=question.frozen,
        )
        _fill(events, asked)


def pause_after(spent: float) -> float:
    """Seconds until the next batch is drawn, where reading and drawing the last one took so many."""
    return min(max(spent / DRAWING_SHARE, SHORTEST), LONGEST)


def _fill(events: deque[Event], source: Iterator[Event]) -> None:
    for event in source:
        events.append(event)
