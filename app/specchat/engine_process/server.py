"""The engine's process: a thread listens, the main thread works, and further ones if answers are given at a time.

The main thread alone begins answers, so it can measure the engine while none is given. With one place it gives them
itself: OpenMP keeps a team of threads for each thread that computes.
"""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Event as Flag
from threading import Lock, Thread
from time import monotonic
from typing import BinaryIO

from specchat.engine_process.open_task import OpenTask
from specchat.engine_process.protocol import (
    Cancel,
    Command,
    Count,
    Event,
    Freeze,
    Generate,
    Prepare,
    Quit,
    Set,
    StepRounds,
    Task,
    TaskFailed,
    Threads,
    decode_command,
)
from specchat.engine_process.work import Work
from specchat.pipes import encode, write_all

_PATIENCE_S = 3.0
"""Running passes get this long to end after the commands ended."""

KEEP_EVERY_S = 60.0

QUIET_S = 1.0
"""A server's engine is measured once nothing was asked for this long. A request ends the measurement."""


class Server:
    """Reads commands from one stream and writes events to another, until the first one ends."""

    def __init__(
        self, commands: BinaryIO, events: BinaryIO, keep_every_s: float = KEEP_EVERY_S, quiet_s: float = QUIET_S
    ) -> None:
        """`events` is unbuffered: what is written goes out at once. The times are those of an engine that serves."""
        self._commands = commands
        self._events = events
        self._work = Work(self._send, keep_every_s)
        self._quiet_s = quiet_s
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._open: dict[int, OpenTask] = {}
        self._threads: dict[int, Thread] = {}
        self._counts = 0
        self._idle = Lock()
        self._done = Flag()
        self._writing = Lock()

    def run(self) -> int:
        """Serves until `Quit` or the end of the commands; returns the exit code."""
        Thread(target=self._listen, name="commands", daemon=True).start()
        with suppress(BrokenPipeError):
            while (task := self._next()) is not None:
                task()
        for thread in [*self._threads.values()]:
            thread.join()
        self._work.close()
        self._done.set()
        return 0

    def _next(self) -> Callable[[], None] | None:
        """The next thing to do. Until it comes, what was learned is kept, and the engine is measured."""
        quiet_at = monotonic() + (self._quiet_s if self._work.serves else 0.0)
        while True:
            due_s, to_quiet_s = self._work.keep_due_s, max(0.0, quiet_at - monotonic())
            if due_s == 0 and self._tasks.empty():
                self._work.keep()
            elif to_quiet_s or not self._idle_steps():
                waits_s = [wait_s for wait_s in (to_quiet_s or None, due_s) if wait_s is not None]
                with suppress(queue.Empty):
                    return self._tasks.get(timeout=min(waits_s, default=None))

    def _idle_steps(self) -> bool:
        """Measures passes, one after the other, and prepares for grammars, until nothing is left or something is asked.
        Whether it did anything."""
        stepped = False
        while self._tasks.empty():
            with self._idle:
                if self._threads or self._counts or not self._work.idle_step():
                    break
            stepped = True
        return stepped

    def _listen(self) -> None:
        try:
            for line in self._commands:
                number, command = decode_command(line)
                if isinstance(command, Quit):
                    break
                self._hear(number, command)
        finally:
            self._stop()

    def _hear(self, number: int, command: Command | None) -> None:
        """Does what cannot wait, and leaves the rest to the main thread."""
        if isinstance(command, Count):
            counting = OpenTask(number, command)
            Thread(target=self._count, args=(counting,), name=f"count {number}", daemon=True).start()
        elif isinstance(command, Task):
            task = self._open[number] = OpenTask(number, command)
            self._tasks.put(partial(self._begin, task))
        elif open_task := self._open.get(number):
            _turn(open_task, command)
        elif isinstance(command, Threads):
            self._work.use_threads(command)
            self._tasks.put(partial(self._work.measure_again, command))
        elif isinstance(command, Prepare):
            self._tasks.put(partial(self._work.prepare, command, lambda: not self._tasks.empty()))
        elif command is None and number:
            refusal = TaskFailed("the request has a value that the engine cannot read")
            self._tasks.put(partial(self._send, refusal, number))

    def _stop(self) -> None:
        """Ends all tasks, and then the process, however long a pass takes."""
        for task in [*self._open.values()]:
            task.cancel()
        self._tasks.put(None)
        # A pass in native code cannot be interrupted, and nobody is left to read its result.
        if not self._done.wait(_PATIENCE_S):
            os._exit(0)

    def _begin(self, task: OpenTask) -> None:
        """Does a task, or begins an answer in a thread of its own if there are several places."""
        if not isinstance(task.command, Generate) or self._work.num_places <= 1:
            self._finish(task)
            if isinstance(task.command, Generate):
                self._work.answered()
        elif len(self._threads) < self._work.num_places:
            thread = Thread(target=self._answer, args=(task,), name=f"answer {task.number}", daemon=True)
            self._threads[task.number] = thread
            thread.start()
        else:
            del self._open[task.number]
            message = f"all places are taken: {self._work.num_places} answers can be given at a time"
            self._send(TaskFailed(message), task.number)

    def _answer(self, task: OpenTask) -> None:
        """Gives an answer in its own thread."""
        with suppress(BrokenPipeError):
            self._finish(task)
        self._tasks.put(self._work.answered)

    def _count(self, task: OpenTask) -> None:
        """Counts in its own thread, after a pass that is being measured."""
        with self._idle:
            self._counts += 1
        try:
            with suppress(BrokenPipeError):
                self._finish(task)
        finally:
            with self._idle:
                self._counts -= 1
            self._tasks.put(lambda: None)  # so that the engine is measured again

    def _finish(self, task: OpenTask) -> None:
        """Does a task in this thread, frees its place, and sends its last event."""
        try:
            last = self._work.do(task)
        finally:
            self._open.pop(task.number, None)
            self._threads.pop(task.number, None)
        self._send(last, task.number)

    def _send(self, event: Event, number: int) -> None:
        """Writes an event, from any thread. Raises BrokenPipeError if nobody reads the events any more."""
        line = encode(event, number)
        with self._writing:
            write_all(self._events, line)


def _turn(task: OpenTask, command: Command | None) -> None:
    """Does at once what is asked about a task that waits or is worked on."""
    match command:
        case Cancel():
            task.cancel()
        case Set(settings):
            task.use(settings)
        case Freeze(on):
            task.gate.freeze(on)
        case StepRounds(rounds):
            task.gate.step(rounds)
