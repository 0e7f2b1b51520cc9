"""The engine, and what each command does with it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from specchat.bench.plan import DRAFTED
from specchat.engine_process.answers import AnswerRun, LoadedEngine, num_tokens
from specchat.engine_process.idle_tasks import IdleTasks
from specchat.engine_process.learner import ChatLearning
from specchat.engine_process.loader import (
    Progress,
    by_hundredths,
    describe,
    open_models,
    open_what_fits,
    reported_progress,
)
from specchat.engine_process.open_task import OpenTask
from specchat.engine_process.places import Places
from specchat.engine_process.prompts import prompt_of
from specchat.engine_process.protocol import (
    Count,
    DraftTimed,
    DraftTrial,
    Event,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    LastEvent,
    Load,
    Loading,
    Prepare,
    Recall,
    Recalled,
    TaskFailed,
    Threads,
    Time,
    TokenCount,
)
from specchat.engine_process.records import recall
from specchat.pipes import unexpected
from specchat_assets import is_guide
from specchat_engine import Session
from specchat_engine.errors import (
    Cancelled,
    ContextOverflowError,
    EngineError,
    PairError,
    SettingError,
    TemplateError,
)

_MOST_PLAIN = 3
"""The built-in pair is there to be watched: after this many plain rounds it drafts, whatever that costs."""

_STOPPED: dict[type[object], str] = {
    Load: "loading was stopped",
    Inspect: "looking closer was stopped",
    Time: "timing was stopped",
}
_NOT_LOADED = "no model is loaded"
_NOTHING_READ = f"{_NOT_LOADED}: nothing was read that could be kept"


class Work:
    """Holds the engine and does what the commands ask. Events go to `send`, with the numbers of the commands.

    Answers and counts may be done by several threads at a time, everything else by one.
    """

    def __init__(self, send: Callable[[Event, int], None], keep_every_s: float) -> None:
        """Records of an engine that serves are written every `keep_every_s` seconds."""
        self._send = send
        self._keep_every_s = keep_every_s
        self._loaded: LoadedEngine | None = None
        self._learning = ChatLearning()

    @property
    def serves(self) -> bool:
        """True if the engine answers the clients of a server."""
        return self._loaded is not None and self._loaded.serves

    @property
    def num_places(self) -> int:
        """The number of answers that can be given at a time."""
        return self._loaded.places.count if self._loaded else 0

    @property
    def keep_due_s(self) -> float | None:
        """In how many seconds something learned is to be kept; None if nothing is new."""
        return self._loaded.idle_tasks.due_s if self._loaded else None

    def do(self, task: OpenTask) -> LastEvent:
        """Does a task, sends its events but the last one, and returns that: if it fails, the reason.

        Raises BrokenPipeError if nobody reads the events any more.
        """
        try:
            match task.command:
                case Load() as command:
                    return self._load(task, command)
                case Generate() as command:
                    return AnswerRun(self._ready(), task, command, lambda event: self._send(event, task.number)).give()
                case Count(request):
                    return TokenCount(num_tokens(self._ready(), request))
                case Inspect() as command:
                    return self._inspect(task, command)
                case Keep() as command:
                    return self._keep(command)
                case Recall(folder):
                    return Recalled(self._loaded is not None and self._loaded.engine.restore_memory(Path(folder)))
                case Time() as command:
                    return self._time(task, command)
        except EngineError as error:
            stopped = task.cancelled or isinstance(error, Cancelled)
            message = _STOPPED.get(type(task.command), str(error)) if stopped else str(error)
            asked_wrong = isinstance(error, SettingError | TemplateError | ContextOverflowError)
            return TaskFailed(message, asked_wrong=asked_wrong, too_long=isinstance(error, ContextOverflowError))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the outermost frame of a task: the log gets the traceback
            return TaskFailed(unexpected(error))

    def prepare(self, command: Prepare, busy: Callable[[], bool]) -> None:
        """Reads what will probably be asked; `busy` says whether something else waits."""
        if self._loaded is None:
            return
        try:
            session = self._session_for(self._loaded, command)
            session.prepare(prompt_of(session.pair, command), busy)
        except EngineError as error:
            sys.stderr.write(f"reading ahead stopped: {error}\n")

    def use_threads(self, threads: Threads) -> None:
        """Computes with other numbers of threads from the next pass on; from any thread."""
        if self._loaded:
            self._loaded.engine.use_threads(threads.target, threads.draft)

    def measure_again(self, threads: Threads) -> None:
        """Applies thread counts again, for a pair that was still loading when they were heard, and measures them."""
        self.use_threads(threads)
        if self._loaded:
            self._loaded.idle_tasks.measure_again()

    def answered(self) -> None:
        """Notes that an answer has ended."""
        if self._loaded:
            self._loaded.idle_tasks.answered()

    def idle_step(self) -> bool:
        """Does one piece of the work for an idle engine; False if nothing is left."""
        return self._loaded is not None and self._loaded.idle_tasks.step()

    def keep(self) -> None:
        """Keeps what was learned and measured."""
        if self._loaded:
            self._loaded.idle_tasks.keep()

    def close(self) -> None:
        """Keeps what was learned, and frees the models."""
        self._learning.stop()
        self.keep()
        self._unload()

    def _ready(self) -> LoadedEngine:
        if self._loaded is None:
            raise EngineError(_NOT_LOADED)
        return self._loaded

    def _unload(self) -> None:
        loaded, self._loaded = self._loaded, None
        if loaded:
            loaded.engine.close()

    def _load(self, task: OpenTask, command: Load) -> LastEvent:
        self._unload()
        opened = open_what_fits(command, self._loading(task))
        engine = opened.engine
        recall(engine)  # before there are sessions, which keep the controller that they begin with
        learning = None if command.serves else self._learning
        if learning:
            learning.use(opened)
            if is_guide(Path(command.target)):
                engine.controller.most_plain = _MOST_PLAIN
        places = Places(engine, measures_plain=not command.serves)
        idle_tasks = IdleTasks(
            engine,
            places.any.pair.lock,
            self._keep_every_s if command.serves else 0.0,
            prepares_grammars=command.serves,
        )
        self._loaded = LoadedEngine(engine, places, idle_tasks, learning)
        return describe(opened)

    def _loading(self, task: OpenTask) -> Progress:
        """Sends the progress of a load from inside it, since it is one call, and stops it after a cancel."""
        return reported_progress(lambda share: self._send(Loading(share), task.number), lambda: task.cancelled)

    def _inspect(self, task: OpenTask, command: Inspect) -> Inspected:
        session = self._session_for(self._ready(), command)
        inspection = session.inspect(
            command.position,
            command.asked,
            messages=prompt_of(session.pair, command),
            tokens=command.tokens,
            sharpness=command.sharpness,
            cancelled=lambda: task.cancelled,
        )
        return Inspected(inspection)

    def _keep(self, command: Keep) -> Kept:
        if self._loaded is None:
            return Kept(False, _NOTHING_READ)
        try:
            self._loaded.engine.save_memory(Path(command.folder), command.limit)
        except EngineError as error:
            return Kept(False, str(error))
        return Kept(True)

    def _time(self, task: OpenTask, command: Time) -> DraftTimed:
        """The loaded pair makes room: two engines would share processor and memory."""
        from specchat.bench.measure import time_draft

        self._unload()
        report = by_hundredths(lambda share: self._send(DraftTrial(share), task.number))

        def progress(share: float) -> None:
            if task.cancelled:
                raise Cancelled("timing was stopped")
            report(share)

        opened = open_models(command, command.draft, self._loading(task))
        with opened.engine as engine:
            if DRAFTED.drafter not in engine.drafters:
                raise PairError(engine.plain_because or "the draft was rejected")
            timed = time_draft(engine, command.seconds, hear=progress)
        return DraftTimed(timed)

    def _session_for(self, loaded: LoadedEngine, command: Prepare | Inspect) -> Session:
        """The pair's session with the seed and the settings of the command, between two answers.

        Raises SettingError for settings that another conversation begins with and that the pair cannot serve.
        """
        session = loaded.places.any
        if session.seed != command.seed:
            loaded.engine.check(command.settings)
        session.seed, session.settings = command.seed, command.settings
        return session
