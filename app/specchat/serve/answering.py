"""Gives answers at the same time, each in a thread of its own."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from threading import Lock, Thread
from typing import TypeVar

from specchat.serve.asking import Exchange, prompt_of, tokens_of, with_required_calls
from specchat.serve.places import Places
from specchat.serve.protocol import Ask, Count, Counted, Event, Failed, Finished
from specchat_engine import Engine, Prompt, Session, TurnStats
from specchat_engine.errors import Cancelled, ContextOverflowError, EngineError, SettingError, TemplateError

T = TypeVar("T")

Send = Callable[[Event], None]
"""Sends an event, from any thread. Raises BrokenPipeError if nobody reads the events any more."""


def unexpected(error: Exception) -> str:
    """One line about an error that nobody foresaw."""
    return " ".join(f"an unexpected {type(error).__name__}: {error}; the engine's log has more".splitlines())


class Asked:
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
    """The answers that are being given."""

    def __init__(self, engine: Engine, send: Send, ended: Callable[[Asked], None]) -> None:
        """`ended` is called in the thread of an answer after its last event."""
        self.places = Places(engine)
        self._engine = engine
        self._send = send
        self._ended = ended
        self._guard = Lock()
        self._running = 0

    @property
    def running(self) -> int:
        """How many answers have had no last event yet."""
        return self._running

    def begin(self, asked: Asked) -> Thread | None:
        """Begins an answer in a thread of its own, which it returns. Fails the request if all places are taken."""
        with self._guard:
            if self._running < self.places.count:
                self._running += 1
                thread = Thread(target=self._answer, args=(asked,), name=f"answer {asked.number}", daemon=True)
                thread.start()
                return thread
        self._send(Failed(f"all places are taken: {self.places.count} answers can be given at a time", asked.number))
        self._ended(asked)
        return None

    def _answer(self, asked: Asked) -> None:
        """Gives one answer and sends its events. Its place is free before the last of them goes out."""
        try:
            with suppress(BrokenPipeError):
                try:
                    last = self._last_event(asked)
                finally:
                    with self._guard:
                        self._running -= 1
                self._send(last)
        finally:
            self._ended(asked)

    def _last_event(self, asked: Asked) -> Finished | Failed:
        """Gives one answer and sends its events but the last one, which it returns."""

        def give() -> Finished:
            if asked.left:
                return cancelled
            prompt = prompt_of(self._engine, asked.request)
            tokens = tokens_of(self.places.any, prompt)
            request = with_required_calls(self._engine, self.places.any, asked.request, tokens)
            self._engine.check(request.settings)
            with self.places.taken(tokens) as session, asked.answered_by(session):
                try:
                    return self._given(asked, Exchange(self._engine, session, asked.number, request), session, prompt)
                except Cancelled:
                    return cancelled

        cancelled = Finished(asked.number, "cancelled", "", TurnStats().to_json())
        return _or_failed(asked.number, give)

    def _given(self, asked: Asked, exchange: Exchange, session: Session, prompt: Prompt) -> Finished:
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

    def count(self, count: Count) -> None:
        """Begins to count the tokens of a prompt, in a thread of its own."""

        def counted() -> Counted:
            tokens = tokens_of(self.places.any, prompt_of(self._engine, count.request))
            return Counted(count.number, len(tokens))

        def tell() -> None:
            with suppress(BrokenPipeError):
                self._send(_or_failed(count.number, counted))

        Thread(target=tell, name=f"count {count.number}", daemon=True).start()


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
        traceback.print_exc(file=sys.stderr)
        return Failed(unexpected(error), number)
