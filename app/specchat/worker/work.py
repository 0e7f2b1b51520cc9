"""What the commands do with the engine: one thread works them off, another turns what is running."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from specchat.worker.codec import build
from specchat.worker.gate import Gate
from specchat.worker.outbox import Outbox
from specchat.worker.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Ended,
    Event,
    Freeze,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    Load,
    Loaded,
    Loading,
    ModelSummary,
    Notice,
    Prepare,
    Recall,
    Recalled,
    Set,
    Started,
    Step,
    Threads,
    Time,
    WorkerFailed,
)
from specchat.worker.records import keep, recall
from specchat.worker.timing import time_pair
from specchat_engine import Engine, Message, Session, TurnStats
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.errors import Cancelled, EngineError, PairError
from specchat_engine.settings import Settings

_PROGRESS_STEP = 0.01
_STOPPED = {Load: "loading was stopped", Inspect: "looking closer was stopped", Time: "timing was stopped"}

Task = Load | Generate | Inspect | Keep | Recall | Time
"""A command that is worked off in its turn and answered by events, exactly one of which is the last."""


class Work:
    """The engine and what is done with it. `hear` is for the listening thread, all else for the working one."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._gate = Gate()
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._settings: Settings | None = None
        self._engine: Engine | None = None
        self._session: Session | None = None
        self._measuring: Iterator[None] = iter(())
        self._measured = False

    def hear(self, command: Command) -> None:
        """Does what cannot wait for the running task, and makes ready for the one that comes."""
        with self._guard:
            match command:
                case Cancel():
                    self._cancelled.set()
                    if self._session is not None:
                        self._session.cancel()
                    self._gate.stop()
                case Set(settings):
                    self._settings = settings
                    if self._session is not None:
                        self._session.settings = settings
                case Threads(target, draft):
                    if self._engine is not None:
                        self._engine.use_threads(target, draft)
                case Freeze(on):
                    self._gate.freeze(on)
                case Step(rounds):
                    self._gate.step(rounds)
                case Generate(settings=settings, frozen=frozen):
                    self._cancelled.clear()
                    self._settings = settings
                    self._gate.begin(frozen)
                case Load() | Inspect() | Time():
                    self._cancelled.clear()

    def events(self, task: Task) -> Iterator[Event]:
        """The events of a task; whatever it raises becomes the last of them, and the process lives on."""
        try:
            yield from self._events(task)
        except EngineError as error:
            stopped = self._cancelled.is_set() or isinstance(error, Cancelled)
            yield WorkerFailed(_STOPPED[type(task)] if stopped and type(task) in _STOPPED else str(error))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost frame of the process: the log gets the traceback
            traceback.print_exc(file=sys.stderr)
            yield WorkerFailed(f"an unexpected {type(error).__name__}: {error}; the engine's log has more")

    def prepare(self, command: Prepare, busy: Callable[[], bool]) -> None:
        """Reads on until there is something else to do, a newer prompt included."""
        session = self._session_for(command.seed, command.settings)
        if session is None:
            return
        try:
            session.prepare(_messages(command.messages), busy)
        except EngineError as error:
            sys.stderr.write(f"reading ahead stopped: {error}\n")

    def measure_again(self, threads: Threads) -> None:
        """Other threads are in force, also where the pair was still loading when they were asked for.

        What is not known of them is measured as soon as there is time.
        """
        if self._engine is not None:
            self._engine.use_threads(threads.target, threads.draft)
            self._measuring = self._engine.measuring()

    def measured_all(self) -> bool:
        """Makes one pass of the measurement that is left, and says whether there is no more; what was found is kept."""
        try:
            next(self._measuring)
            self._measured = True
        except StopIteration:
            self._measuring = iter(())
            if self._measured and self._engine is not None:
                keep(self._engine)
            self._measured = False
            return True
        except EngineError as error:
            sys.stderr.write(f"measuring stopped: {error}\n")
            return True
        return False

    def close(self) -> None:
        """Frees the models."""
        if self._engine is not None:
            self._engine.close()

    def _events(self, task: Task) -> Iterator[Event]:
        match task:
            case Load():
                yield from self._load(task)
            case Generate():
                yield from self._generate(task)
            case Inspect():
                yield self._inspect(task)
            case Keep():
                yield self._keep(task)
            case Recall():
                yield Recalled(self._engine is not None and self._engine.restore_memory(Path(task.folder)))
            case Time():
                yield self._time(task)

    def _unload(self) -> None:
        with self._guard:
            self._session = None
        if self._engine is not None:
            self._measuring = iter(())
            self._engine.close()
            self._engine = None

    def _load(self, command: Load) -> Iterator[Event]:
        self._unload()
        refusal = None
        try:
            self._engine = self._open(command, command.draft)
        except PairError as error:
            refusal = str(error)
            self._engine = self._open(command, None)
        engine = self._engine
        recall(engine)
        self._measuring = engine.measuring()
        yield Loaded(
            target=build(ModelSummary, engine.target.to_json()),
            draft=build(ModelSummary, engine.draft.to_json()) if engine.draft else None,
            drafters=engine.drafters,
            recommended=engine.recommended,
            refusal=refusal,
            n_ctx=engine.target.n_ctx,
            plain_because=engine.plain_because,
            translated_because=engine.translated_because,
            memory=engine.memory_use,
        )

    def _open(self, command: Load, draft: str | None) -> Engine:
        """Loads models; progress goes out from inside of it, since a load is one call."""
        told = -1.0

        def progress(share: float) -> bool:
            nonlocal told
            if share >= told + _PROGRESS_STEP:
                told = share
                self._outbox.send(Loading(share))
            return not self._cancelled.is_set()

        return Engine.load(command.target, draft, command.options, progress)

    def _generate(self, command: Generate) -> Iterator[Event]:
        session = self._session_for(command.seed, self._settings or command.settings)
        if session is None:
            yield WorkerFailed("no model is loaded")
            return
        if self._cancelled.is_set():
            yield Ended("cancelled", "", TurnStats().to_json())
            return
        started = False
        notices = 0

        def news() -> Iterator[Event]:
            nonlocal started, notices
            if not started:
                started = True
                yield Started(session.start_line())
            yield from map(Notice, session.notices[notices:])
            notices = len(session.notices)

        def hold() -> None:
            if self._gate.holds:
                for event in news():
                    self._outbox.send(event)
                self._outbox.flush()
            self._gate.wait()
            if self._cancelled.is_set():
                session.cancel()

        session.hold = hold
        rounds = session.answer(_messages(command.messages), command.turn, command.attempt, command.prefix)
        while True:
            event = next(rounds, None)
            yield from news()
            if event is None:
                break
            yield event
        if self._engine is not None:
            keep(self._engine)
            self._measuring = chain(self._measuring, session.rehearsing())
        end = session.end_line()
        yield Ended(end["reason"], end["text"], end["stats"], MeasuredCosts.from_json(end["costs"]))

    def _inspect(self, command: Inspect) -> Event:
        session = self._session_for(command.seed, command.settings)
        if session is None:
            return WorkerFailed("no model is loaded")
        inspection = session.inspect(
            command.position,
            command.asked,
            messages=_messages(command.messages),
            tokens=command.tokens,
            cancelled=self._cancelled.is_set,
        )
        return Inspected(inspection)

    def _time(self, command: Time) -> Event:
        """Beside another engine neither would have the processor and the memory to itself: it makes room."""
        self._unload()
        with self._open(Load(command.target, command.draft, command.options), command.draft) as engine:
            return time_pair(engine, command.seconds, self._cancelled.is_set, self._outbox.send)

    def _keep(self, command: Keep) -> Event:
        if self._engine is None:
            return Kept(False, "no model is loaded: nothing was read that could be kept")
        try:
            self._engine.save_memory(Path(command.folder), command.limit)
        except EngineError as error:
            return Kept(False, str(error))
        return Kept(True)

    def _session_for(self, seed: int, settings: Settings) -> Session | None:
        """The session, with the seed of this turn and these settings; None where nothing is loaded.

        It is one for as long as the pair is loaded, so that lookup drafts from what other conversations said. Raises
        SettingError for settings that another conversation begins with and that the pair cannot serve.
        """
        with self._guard:
            if self._engine is None:
                return None
            if self._session is None:
                self._session = self._engine.session(None, settings, seed)
            elif self._session.seed != seed:
                self._engine.check(settings)
            self._session.seed, self._session.settings = seed, settings
            return self._session


def _messages(messages: tuple[ChatMessage, ...]) -> list[Message]:
    return [Message(message.role, message.content) for message in messages]
