"""One answer, from its command to its last event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from specchat.engine_process.idle_tasks import IdleTasks
from specchat.engine_process.learner import ChatLearning
from specchat.engine_process.open_task import OpenTask
from specchat.engine_process.places import Places
from specchat.engine_process.prompts import AnswerScores, calls_of, prompt_of, tokens_of
from specchat.engine_process.protocol import (
    ChatMessage,
    Ended,
    Event,
    Generate,
    Notice,
    Scored,
    Started,
    Summarised,
)
from specchat.engine_process.reading_progress import progress_reported
from specchat.engine_process.summary import split, system_of, with_summary, write_summary
from specchat_engine import Engine, Prompt, Session, TurnStats
from specchat_engine.errors import Cancelled


@dataclass(frozen=True, slots=True)
class LoadedEngine:
    """An engine, and what is done with it. Without `learning` it answers the clients of a server."""

    engine: Engine
    places: Places
    idle_tasks: IdleTasks
    learning: ChatLearning | None

    @property
    def serves(self) -> bool:
        """True if it answers the clients of a server."""
        return self.learning is None


class AnswerRun:
    """Answers a command with a loaded engine. `send` gets all events but the last one."""

    def __init__(self, loaded: LoadedEngine, task: OpenTask, command: Generate, send: Callable[[Event], None]) -> None:
        self._loaded = loaded
        self._task = task
        self._command = command
        self._send = send

    def give(self) -> Ended:
        """Gives the answer in a free place and returns its last event. Raises EngineError."""
        loaded, task = self._loaded, self._task
        places = loaded.places
        cancelled = Ended("cancelled", "", TurnStats().to_json())
        if task.cancelled:
            return cancelled
        prompt = self._prompt()
        tokens = tokens_of(places.any, prompt) if places.count > 1 else ()
        loaded.engine.check(self._command.settings)
        try:
            with places.taken(tokens) as session, task.answered_by(session):
                session.seed = self._command.seed
                if loaded.learning is None:
                    self._answer(session, prompt)
                    return _ended(session)
                prompt = self._shortened(session, prompt)
                with loaded.learning.during_answer(session, self._command, lambda text: self._send(Notice(text))):
                    self._answer(session, prompt)
                calls, content = calls_of(session, self._command)
                return replace(_ended(session), costs=session.costs, calls=calls, content=content)
        except Cancelled:
            return cancelled

    def _prompt(self) -> Prompt:
        return prompt_of(self._loaded.places.any.pair, self._command, whole=self._loaded.serves)

    def _answer(self, session: Session, prompt: Prompt) -> None:
        """Answers a prompt and sends the events. Raises Cancelled, and what `Session.answer` raises."""
        task, command, send = self._task, self._command, self._send
        scores = AnswerScores(self._loaded.engine, session, command)
        echoed = scores.of_prompt(prompt, lambda: task.cancelled)
        started, num_notices = False, 0

        def begin() -> None:
            """Sends that the answer began, once, and the notices that came since the last call."""
            nonlocal started, num_notices
            if not started:
                started = True
                # A prompt that was scored was read for that, all of it.
                cached = 0 if echoed else session.stats.cached_tokens
                send(Started(session.start_line(), cached, echoed, "" if echoed else session.cache_miss))
            for notice in session.notices[num_notices:]:
                send(Notice(notice))
            num_notices = len(session.notices)

        with progress_reported(session, send) as read:

            def hold() -> None:
                read()
                begin()
                task.gate.wait()
                if task.cancelled:
                    session.cancel()

            session.hold, session.prediction = hold, command.prediction
            if task.cancelled:  # the session's `cancel` ends only an answer that has begun
                raise Cancelled("the answer was stopped before its prompt was read")
            for event in session.answer(prompt, command.turn, command.attempt, command.prefix):
                if positions := scores.of_round(event):
                    send(Scored(positions))
                send(event)
        begin()

    def _shortened(self, session: Session, prompt: Prompt) -> Prompt:
        """The prompt, with its oldest turns replaced by a summary if they do not fit and the user wants that."""
        older, latest = split(self._command.messages)
        if session.settings.context_full != "summarise" or not session.num_dropped(prompt) or not older:
            return prompt
        self._send(Notice("the context is nearly full: the model summarises the oldest turns first"))
        system = system_of(self._command.messages)
        try:
            text = write_summary(session, older, system, lambda: self._task.cancelled)
        finally:
            self._task.apply(session)  # gives the session its settings back
        if not text:
            return prompt
        self._send(Summarised(text, len(older)))
        summary = ChatMessage("system", with_summary(system, text))
        self._command = replace(self._command, messages=(summary, *latest))
        return self._prompt()


def _ended(session: Session) -> Ended:
    return Ended(session.end_reason or "error", session.text, session.stats.to_json())


def num_tokens(loaded: LoadedEngine, request: Generate) -> int:
    """Counts the tokens of a prompt. It needs no place. Raises EngineError."""
    session = loaded.places.any
    return len(tokens_of(session, prompt_of(session.pair, request, whole=loaded.serves)))
