"""The engine's process: obeys commands one after the other while a second thread listens for the urgent ones."""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from specchat.records import keep, recall
from specchat.worker.codec import build, decode_command
from specchat.worker.outbox import Outbox
from specchat.worker.protocol import (
    Cancel,
    Command,
    Ended,
    Event,
    Generate,
    Load,
    Loaded,
    Loading,
    ModelSummary,
    Notice,
    Prepare,
    Quit,
    Set,
    Started,
    WorkerFailed,
)
from specchat_engine import Engine, Message, Session, TurnStats
from specchat_engine.errors import EngineError, PairError
from specchat_engine.settings import Settings

_PATIENCE = 3.0
_PROGRESS_STEP = 0.01


class Server:
    """Reads commands from one stream and writes events to another until the first one ends."""

    def __init__(self, commands: BinaryIO, events: BinaryIO) -> None:
        self._commands = commands
        self._outbox = Outbox(events)
        self._waiting: queue.SimpleQueue[Load | Generate | Prepare | None] = queue.SimpleQueue()
        self._cancelled = threading.Event()
        self._done = threading.Event()
        self._guard = threading.Lock()
        self._settings: Settings | None = None
        self._engine: Engine | None = None
        self._session: Session | None = None
        self._measuring: Iterator[None] = iter(())

    def run(self) -> int:
        """Serves until `quit` or the end of the commands; returns the exit code."""
        threading.Thread(target=self._listen, name="commands", daemon=True).start()
        with suppress(BrokenPipeError):
            while (command := self._next()) is not None:
                if isinstance(command, Prepare):
                    self._prepare(command)
                    continue
                for event in self._guarded(command):
                    self._outbox.send(event)
        self._outbox.close()
        self._done.set()
        if self._engine is not None:
            self._engine.close()
        return 0

    def _next(self) -> Load | Generate | Prepare | None:
        """The next command; while there is none, the costs of a pair that is not known yet are measured."""
        while True:
            try:
                return self._waiting.get_nowait()
            except queue.Empty:
                if self._measured_all():
                    return self._waiting.get()

    def _measured_all(self) -> bool:
        """Makes one pass of the measurement that is left, and says whether there is no more."""
        try:
            next(self._measuring)
        except StopIteration:
            return True
        except EngineError as error:
            sys.stderr.write(f"measuring stopped: {error}\n")
            return True
        return False

    def _listen(self) -> None:
        for line in self._commands:
            command = decode_command(line)
            if isinstance(command, Quit):
                break
            if command is not None:
                self._hear(command)
        self._hear(Cancel())
        self._waiting.put(None)
        # A pass in native code cannot be interrupted, and nobody is left who waits for its result.
        if not self._done.wait(_PATIENCE):
            os._exit(0)

    def _hear(self, command: Command) -> None:
        """Does what cannot wait for the running command, and queues the rest."""
        with self._guard:
            match command:
                case Cancel():
                    self._cancelled.set()
                    if self._session is not None:
                        self._session.cancel()
                case Set(settings):
                    self._settings = settings
                    if self._session is not None:
                        self._session.settings = settings
                case Generate(settings=settings):
                    self._cancelled.clear()
                    self._settings = settings
                    self._waiting.put(command)
                case Load():
                    self._cancelled.clear()
                    self._waiting.put(command)
                case Prepare():
                    self._waiting.put(command)

    def _guarded(self, command: Load | Generate) -> Iterator[Event]:
        """The events of a command; whatever it raises becomes the last of them, and the process lives on."""
        try:
            yield from self._load(command) if isinstance(command, Load) else self._generate(command)
        except EngineError as error:
            stopped = isinstance(command, Load) and self._cancelled.is_set()
            yield WorkerFailed("loading was stopped" if stopped else str(error))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost frame of the process: the log gets the traceback
            traceback.print_exc(file=sys.stderr)
            yield WorkerFailed(f"an unexpected {type(error).__name__}: {error}; the engine's log has more")

    def _load(self, command: Load) -> Iterator[Event]:
        with self._guard:
            self._session = None
        if self._engine is not None:
            self._measuring = iter(())
            self._engine.close()
            self._engine = None
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
        session = self._session_for(command)
        if session is None:
            yield WorkerFailed("no model is loaded")
            return
        if self._cancelled.is_set():
            yield Ended("cancelled", "", TurnStats().to_json())
            return
        messages = [Message(message.role, message.content) for message in command.messages]
        rounds = session.answer(messages, command.turn, command.attempt)
        started = False
        notices = 0
        while True:
            event = next(rounds, None)
            if not started:
                yield Started(session.start_line())
                started = True
            yield from map(Notice, session.notices[notices:])
            notices = len(session.notices)
            if event is None:
                break
            yield event
            if self._cancelled.is_set():
                session.cancel()
        if self._engine is not None:
            keep(self._engine)
        end = session.end_line()
        yield Ended(end["reason"], end["text"], end["stats"])

    def _prepare(self, command: Prepare) -> None:
        """Reads on until there is something else to do, a newer prompt included."""
        session = self._session_for(command)
        if session is None:
            return
        messages = [Message(message.role, message.content) for message in command.messages]
        try:
            session.prepare(messages, lambda: not self._waiting.empty())
        except EngineError as error:
            sys.stderr.write(f"reading ahead stopped: {error}\n")

    def _session_for(self, command: Generate | Prepare) -> Session | None:
        """The session, with the seed of this turn and the newest settings; None where nothing is loaded."""
        with self._guard:
            if self._engine is None:
                return None
            settings = command.settings if isinstance(command, Prepare) else self._settings or command.settings
            if self._session is None or self._session.seed != command.seed:
                self._session = self._engine.session(None, settings, command.seed)
            self._session.settings = settings
            return self._session
