"""The link to the engine: threads wait for its events, and the screen gets them in batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.worker import Worker

from specchat.chat.session import ChatSession, Question
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import NO_TOOLS, ChatMessage, Event, Offer, Prepare
from specchat.settings.options import ChatOptions
from specchat_engine.settings import Settings

_INTERVAL = 1 / 12
"""Seconds between two batches. Drawing takes processor time from the engine, about 6 ms a batch."""


class EngineLink:
    """Loads models and asks questions for a widget, which gets an `Arrived` message for each batch of events."""

    @dataclass
    class Arrived(Message):
        """Events of the running load or answer, in order. Every event arrives once."""

        events: tuple[Event, ...]

    def __init__(self, client: EngineClient, owner: Widget) -> None:
        self.client = client
        """For calls without events."""
        self._owner = owner
        self._events: deque[Event] = deque()
        self._worker: Worker[None] | None = None
        self._timer: Timer | None = None

    @property
    def idle(self) -> bool:
        """Whether every event has arrived."""
        return not self._events

    def load(self, options: ChatOptions) -> None:
        """Loads the pair."""
        self._read(lambda: self.client.load(options.target, options.draft, options.load))

    def ask(self, question: Question, settings: Settings) -> None:
        """Answers a question. An engine that died is loaded again first."""
        # Called here and not in the thread: a `stop` that follows has to find it.
        answer = self.client.generate(question.request(settings))
        self._read(lambda: answer)

    def prepare(self, session: ChatSession, settings: Settings, text: str, tools: Offer = NO_TOOLS) -> None:
        """Lets the engine read the conversation with a message that is still being written."""
        messages = (*session.conversation.asked(), ChatMessage("user", text))
        self.client.prepare(Prepare(messages, settings, session.seed, tools))

    def forget(self) -> None:
        """Stops the running answer and drops the events that it still sends."""
        self.client.cancel()
        self._events = deque()
        self._stop_timer()

    def _read(self, call: Callable[[], Iterator[Event]]) -> None:
        """Reads the events of a blocking call in a thread of its own."""
        self._events = events = deque[Event]()

        def read() -> None:
            events.extend(call())

        self._worker = self._owner.run_worker(read, group="engine", thread=True)
        self._stop_timer()
        self._timer = self._owner.set_interval(_INTERVAL, self._post)

    def _post(self) -> None:
        finished = self._worker is not None and self._worker.is_finished
        arrived = []
        while self._events:
            arrived.append(self._events.popleft())
        if arrived:
            self._owner.post_message(self.Arrived(tuple(arrived)))
        if finished:
            self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
