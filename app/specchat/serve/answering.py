"""Gives answers at the same time, each in a thread of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from threading import Lock, Thread
from typing import Literal, TypeVar

from specchat.serve.asking import Exchange, prompt_of, tokens_of
from specchat.serve.places import Places
from specchat.serve.protocol import Ask, Count, Counted, Event, Failed, Finished
from specchat.worker.streams import unexpected
from specchat_engine import Engine, Prompt, Session, TurnStats
from specchat_engine.errors import Cancelled, ContextOverflowError, EngineError, SettingError, TemplateError

T = TypeVar("T")

Send = Callable[[Event], None]
"""Sends an event, from any thread. Raises BrokenPipeError if nobody reads the events any more."""


class OpenRequest:
    """A request from the moment when it was heard to its last event."""

    def __init__(self, ask: Ask) -> None:
        self.number = ask.number
        self.request = ask.request
        self.left = False
        self._session: Session | None = None
        self._guard = Lock()

    def leave(self) -> None:
        """Ends the answer before its next round, or between two chunks of its prompt; from any thread."""
        with self._guard:
            self.left = True
            if self._session:
                self._session.cancel()

    @contextmanager
    def answered_by(self, session: Session) -> Iterator[None]:
        """While a session answers it. Afterwards the session may belong to another request."""
        self._session = session
        try:
            yield
        finally:
            with self._guard:
                self._session = session.hold = None


class Answers:
    """The answers that are being given, and the prompts whose tokens are counted."""

    def __init__(self, engine: Engine, send: Send, ended: Callable[[int], None]) -> None:
        """`ended` gets the number of a request after its last event, in the thread that worked on it."""
        self.places = Places(engine)
        self._engine = engine
        self._send = send
        self._ended = ended
        self._guard = Lock()
        self._threads: Counter[Literal["answer", "count"]] = Counter()

    @property
    def idle(self) -> bool:
        """Whether nothing is answered or counted, so that nothing disturbs a measurement, or waits for it."""
        return not self._threads.total()

    def begin(self, asked: OpenRequest) -> Thread | None:
        """Begins an answer in a thread of its own, which it returns. Fails the request if all places are taken.

        Only one thread may call this.
        """
        if self._threads["answer"] < self.places.count:
            return self._start("answer", asked.number, partial(self._last_event, asked))
        self._send(Failed(f"all places are taken: {self.places.count} answers can be given at a time", asked.number))
        self._ended(asked.number)
        return None

    def count(self, count: Count) -> None:
        """Begins to count the tokens of a prompt, in a thread of its own."""

        def counted() -> Counted:
            tokens = tokens_of(self.places.any, prompt_of(self._engine, count.request))
            return Counted(count.number, len(tokens))

        self._start("count", count.number, partial(_or_failed, count.number, counted))

    def _start(self, kind: Literal["answer", "count"], number: int, work: Callable[[], Event]) -> Thread:
        """Starts a thread for a request. `work` returns its last event, which goes out when the place is free again."""

        def run() -> None:
            try:
                with suppress(BrokenPipeError):
                    try:
                        last = work()
                    finally:
                        with self._guard:
                            self._threads[kind] -= 1
                    self._send(last)
            finally:
                self._ended(number)

        with self._guard:
            self._threads[kind] += 1
        thread = Thread(target=run, name=f"{kind} {number}", daemon=True)
        thread.start()
        return thread

    def _last_event(self, asked: OpenRequest) -> Finished | Failed:
        """Gives one answer and sends its events but the last one, which it returns."""

        def give() -> Finished:
            if asked.left:
                return cancelled
            prompt = prompt_of(self._engine, asked.request)
            tokens = tokens_of(self.places.any, prompt)
            self._engine.check(asked.request.settings)
            with self.places.taken(tokens) as session, asked.answered_by(session):
                try:
                    exchange = Exchange(self._engine, session, asked.number, asked.request)
                    return self._given(asked, exchange, session, prompt)
                except Cancelled:
                    return cancelled

        cancelled = Finished(asked.number, "cancelled", "", TurnStats().to_json())
        return _or_failed(asked.number, give)

    def _given(self, asked: OpenRequest, exchange: Exchange, session: Session, prompt: Prompt) -> Finished:
        """Gives an answer with a session, sends its events, and returns the last one."""
        begun = False

        def begin() -> None:
            nonlocal begun
            if not begun:
                begun = True
                self._send(exchange.begun())

        def hold() -> None:
            begin()
            if asked.left:
                session.cancel()

        session.hold = hold
        with closing(exchange.rounds(prompt, lambda: asked.left)) as rounds:
            for made in rounds:
                self._send(made)
        begin()
        stats, notices = session.stats.to_json(), tuple(session.notices)
        return Finished(asked.number, session.end_reason or "error", session.text, stats, notices)


def _or_failed(number: int, give: Callable[[], T]) -> T | Failed:
    """What `give` returns, or why it failed. Raises BrokenPipeError if nobody reads the events any more."""
    try:
        return give()
    except (SettingError, TemplateError, ContextOverflowError) as error:
        return Failed(str(error), number, theirs=True, too_long=isinstance(error, ContextOverflowError))
    except EngineError as error:
        return Failed(str(error), number)
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the outermost frame of the thread: the log gets the traceback
        return Failed(unexpected(error), number)
