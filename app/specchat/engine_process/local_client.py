"""The application's side of the engine: everything it can be asked, whatever happens to its process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.engine_process.process import CLOSED, ENDED, EngineProcess
from specchat.engine_process.protocol import (
    Cancel,
    Command,
    Event,
    Freeze,
    Generate,
    Inspect,
    Keep,
    Kept,
    LastEvent,
    Load,
    Loaded,
    Prepare,
    Recall,
    Set,
    StepRounds,
    Task,
    TaskFailed,
    Threads,
    Time,
    decode_event,
)

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings

_ANSWERING = "an answer is being given: look closer when it has ended"
_PATIENCE_S = 2.0


@dataclass(slots=True)
class _Call:
    """A task and its number. Before it is `sent` its settings may change, and it may be cancelled."""

    number: int
    task: Task
    sent: bool = False
    cancelled: bool = False


class LocalClient:
    """The engine in a process, which is started on demand and again after it died.

    Methods that return events block until the engine answers: call them in a thread. Each ends with exactly one Loaded,
    Ended, Inspected, Kept, Recalled, DraftTimed or TaskFailed. Any thread may call the other methods at any time.
    """

    def __init__(self, log_path: Path) -> None:
        self._log_path = log_path
        self._process: EngineProcess | None = None
        self._pair: Load | None = None
        self._pair_is_loaded = False
        self._begun: _Call | None = None
        self._numbers = count(1)
        self._calls: dict[int, _Call] = {}
        self._answering = self._closed = False
        self._changing = threading.RLock()
        self._one_at_a_time = threading.Lock()

    @property
    def alive(self) -> bool:
        """True while the process runs."""
        return self._process is not None and self._process.alive

    def begin_load(self, target: Path, draft: Path | None, options: LoadOptions) -> None:
        """Starts loading a pair before anyone can listen; the same `load` then has the events."""
        with suppress(OSError):
            process = self._running()
            self._begun = self._call(_load(target, draft, options))
            self._send(process, self._begun)

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Loads a pair: Loading…, then Loaded or TaskFailed."""
        with self._one_at_a_time:
            self._pair = _load(target, draft, options)
            yield from self._load_pair()

    def generate(self, request: Generate) -> Iterator[Event]:
        """Answers a conversation: PromptProgress…, Started, Notice, Round…, then Ended or TaskFailed.

        The answer begins with `prefix`, which no round has, and probably repeats `prediction`. A `frozen`
        answer sends Started and then waits for `step` or `freeze(False)`. After the process died the last pair is
        loaded again first, with its Loading and Loaded events. A `cancel` after this call stops the answer, and a `set`
        changes its settings, also before its first event.
        """
        return self._answer(self._call(request))

    def inspect(self, request: Inspect) -> Iterator[Event]:
        """Looks again at one output position of an answer with these ids: Inspected or TaskFailed.

        TaskFailed at once while an answer is being given, also a frozen one. A process that died is started again,
        with its Loading and Loaded events.
        """
        if self._answering:
            yield TaskFailed(_ANSWERING)
            return
        with self._one_at_a_time:
            yield from self._with_the_pair(self._call(request))

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """Times a draft with a target: Loading…, DraftTrial…, then DraftTimed or TaskFailed.

        The loaded pair makes room, and is loaded again before the next answer. TaskFailed at once while an answer is
        being given.
        """
        if self._answering:
            yield TaskFailed("an answer is being given: time drafts when it has ended")
            return
        with self._one_at_a_time:
            self._pair_is_loaded = False
            yield from self._converse(self._call(Time(str(target), str(draft), options, seconds)))

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Writes the prompt caches to a folder: Kept, which says why if they were not written, or TaskFailed.

        Nothing is written if it takes more than `limit` bytes, or if the process has died.
        """
        with self._one_at_a_time:
            if self.alive and self._pair_is_loaded:
                yield from self._converse(self._call(Keep(str(folder), limit)))
            else:
                yield Kept(False, "no model is loaded: nothing was read that could be kept")

    def recall(self, folder: Path) -> Iterator[Event]:
        """Restores the prompt caches from a folder: Recalled or TaskFailed.

        A process that died is started again, with its Loading and Loaded events.
        """
        with self._one_at_a_time:
            yield from self._with_the_pair(self._call(Recall(str(folder))))

    def prepare(self, request: Prepare) -> None:
        """Lets an idle engine read what will probably be asked, without events; a later call ends it."""
        if self._pair_is_loaded:
            self._write(request)

    def set(self, settings: Settings) -> None:
        """Changes the settings of the running answer from its next round on. Does nothing while none runs."""
        with self._changing:
            for call in [*self._calls.values()]:
                if isinstance(call.task, Generate) and not call.sent:
                    call.task = replace(call.task, settings=settings)
            self._turn(Set(settings))

    def use_threads(self, options: LoadOptions) -> None:
        """Computes with the threads of these options from the next pass on, and when the pair is loaded again."""
        if self._pair is not None:
            own = self._pair.options
            counted = replace(own, threads=options.threads, threads_draft=options.threads_draft)
            self._pair = replace(self._pair, options=counted)
        self._write(Threads(options.threads, options.threads_draft))

    def freeze(self, on: bool) -> None:
        """Holds the running answer before its next round, or lets it continue. Does nothing while none runs."""
        self._turn(Freeze(on))

    def step(self, rounds: int = 1) -> None:
        """Lets a frozen answer make this many rounds. Does nothing while none is frozen."""
        self._turn(StepRounds(rounds))

    def cancel(self) -> None:
        """Stops the running load, answer, timing or inspection, which then ends as usual."""
        with self._changing:
            for call in [*self._calls.values()]:
                call.cancelled = True
            self._turn(Cancel())

    def close(self) -> None:
        """Ends the process, by force if necessary. A running call ends with TaskFailed."""
        with self._changing:
            self._closed = True
            process = self._process
        if process is not None:
            process.end()
            if self._one_at_a_time.acquire(blocking=False):  # nobody reads its events, or learns of its death
                process.death()
                self._one_at_a_time.release()

    def _call(self, task: Task) -> _Call:
        """A task to be sent. `set` and `cancel` know of it from now on."""
        call = _Call(next(self._numbers), task)
        with self._changing:
            self._calls[call.number] = call
        return call

    def _answer(self, call: _Call) -> Iterator[Event]:
        with self._one_at_a_time:
            self._answering = True
            try:
                yield from self._with_the_pair(call)
            finally:
                self._answering = False

    def _with_the_pair(self, call: _Call) -> Iterator[Event]:
        """The events of a task; the last pair is loaded again first if the process died."""
        if not (self.alive and self._pair_is_loaded):
            for event in self._load_pair():
                yield event
                if isinstance(event, TaskFailed):
                    self._calls.pop(call.number, None)
                    return
        yield from self._converse(call)

    def _load_pair(self) -> Iterator[Event]:
        if self._pair is None:
            yield TaskFailed("no model is loaded yet")
            return
        self._pair_is_loaded = False
        for event in self._converse(self._call(self._pair)):
            self._pair_is_loaded = isinstance(event, Loaded)
            yield named(event, self._pair) if isinstance(event, TaskFailed) else event

    def _converse(self, call: _Call) -> Iterator[Event]:
        """Sends a task, unless the same was begun, and yields its events up to the last one."""
        try:
            process = self._running()
        except OSError as problem:
            self._calls.pop(call.number, None)
            yield TaskFailed(f"the engine's process cannot be started: {problem}", died=True)
            return
        begun, self._begun = self._begun, None
        if begun is not None and begun.task == call.task:
            self._calls.pop(call.number, None)
            call = begun
        elif begun is not None:
            self._abandon(process, begun)
        self._send(process, call)
        finished = False
        try:
            for event in self._events(process, call):
                finished = isinstance(event, LastEvent)
                yield event
                if finished:
                    return
        finally:
            if not finished:
                self._abandon(process, call)

    def _send(self, process: EngineProcess, call: _Call) -> None:
        """Writes a task that was not written before."""
        with self._changing:
            if not call.sent:
                call.sent = True
                process.write(call.task, call.number)
                if call.cancelled:
                    process.write(Cancel(), call.number)

    def _events(self, process: EngineProcess, call: _Call) -> Iterator[Event]:
        """The events of a task up to the last one, which says why if the process ends before."""
        for line in process.events:
            number, event = decode_event(line)
            if event is not None and number in (call.number, 0):
                if isinstance(event, LastEvent):
                    self._calls.pop(call.number, None)
                yield event
        self._calls.pop(call.number, None)
        yield process.death()

    def _abandon(self, process: EngineProcess, call: _Call) -> None:
        """Stops a task that nobody listens to any more, and takes its remaining events out of the pipe."""
        process.write(Cancel(), call.number)
        for event in self._events(process, call):
            if isinstance(event, LastEvent):
                return

    def _turn(self, command: Command) -> None:
        """Sends a command to each task that the process knows."""
        with self._changing:
            for call in [*self._calls.values()]:
                if call.sent:
                    self._write(command, call.number)

    def _write(self, command: Command, number: int = 0) -> None:
        if (process := self._process) is not None:
            process.write(command, number)

    def _running(self) -> EngineProcess:
        """The process; starts one if none runs. Raises OSError if none can be started."""
        with self._changing:
            if self._closed:
                raise OSError(CLOSED)
            if self._process is None or not self._process.alive:
                if self._process is not None:
                    self._process.death()
                self._begun, self._pair_is_loaded = None, False
                self._process = EngineProcess(self._log_path, _PATIENCE_S)
            return self._process


def named(failed: TaskFailed, pair: Load) -> TaskFailed:
    """The same, with the files that were loading when the process died, if its log does not name them."""
    names = [name for name in (pair.target, pair.draft) if name]
    if not failed.message.startswith(ENDED) or any(name in failed.message for name in names):
        return failed
    return replace(failed, message=f"{failed.message}; it was loading {' and '.join(names)}")


def _load(target: Path, draft: Path | None, options: LoadOptions) -> Load:
    return Load(str(target), None if draft is None else str(draft), options)
