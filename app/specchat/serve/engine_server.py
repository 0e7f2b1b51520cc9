"""The engine's process of a server: hears requests and begins answers. Between them the engine is measured."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event as Flag
from threading import Lock, Thread
from time import monotonic
from typing import BinaryIO

from specchat.serve.answering import Answers, OpenRequest
from specchat.serve.protocol import Ask, Command, Count, Event, Failed, Leave, decode_command, encode, refused
from specchat.worker.loading import describe, open_what_fits, progress_told
from specchat.worker.protocol import Load, Loading, Quit
from specchat.worker.records import recall
from specchat.worker.streams import unexpected, write_all
from specchat.worker.upkeep import Upkeep
from specchat_engine import Engine
from specchat_engine.errors import EngineError

_PATIENCE_S = 3.0
"""Running passes get so long to end after the commands ended."""

KEEP_EVERY_S = 60.0

QUIET_S = 1.0
"""The engine is measured once nothing was asked for this long. Each answer ends the measurement that is under way."""

Task = Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A loaded engine, and what is done with it."""

    engine: Engine
    answers: Answers
    upkeep: Upkeep


class EngineServer:
    """Reads commands from one stream and writes events to another, until the first one ends.

    A thread listens. The main thread alone begins answers, so that it can measure the engine while there are none.
    """

    def __init__(
        self, commands: BinaryIO, events: BinaryIO, keep_every_s: float = KEEP_EVERY_S, quiet_s: float = QUIET_S
    ) -> None:
        """`events` is unbuffered: what is written goes out at once."""
        self._commands = commands
        self._events = events
        self._keep_every_s = keep_every_s
        self._quiet_s = quiet_s
        self._writing = Lock()
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._open: dict[int, OpenRequest] = {}
        self._threads: dict[int, Thread] = {}
        self._stopped, self._done = Flag(), Flag()
        self._loaded: _Loaded | None = None

    def run(self) -> int:
        """Serves until `Quit` or the end of the commands; returns the exit code."""
        Thread(target=self._listen, name="commands", daemon=True).start()
        with suppress(BrokenPipeError):
            while (task := self._next()) is not None:
                task()
        self._close()
        self._done.set()
        return 0

    def _next(self) -> Task | None:
        """The next thing to do. Until it comes, what was learned is kept, and after a while the engine is measured."""
        quiet_at = monotonic() + self._quiet_s
        while True:
            to_quiet_s = max(0.0, quiet_at - monotonic())
            while not to_quiet_s and self._tasks.empty() and self._measure():
                pass
            due_s = self._loaded.upkeep.due_s if self._loaded else None
            waits_s = [wait_s for wait_s in (to_quiet_s or None, due_s) if wait_s is not None]
            try:
                return self._tasks.get(timeout=min(waits_s, default=None))
            except queue.Empty:
                if self._loaded and self._loaded.upkeep.due_s == 0:
                    self._loaded.upkeep.keep()

    def _measure(self) -> bool:
        loaded = self._loaded
        return loaded is not None and loaded.answers.idle and loaded.upkeep.measure()

    def _listen(self) -> None:
        try:
            for line in self._commands:
                command = decode_command(line)
                if isinstance(command, Quit):
                    break
                self._hear(command, line)
        finally:
            self._stop()

    def _hear(self, command: Command | None, line: bytes) -> None:
        """Does what cannot wait, and leaves the rest to the main thread."""
        match command:
            case Load() as load:
                self._tasks.put(partial(self._load, load))
            case Ask(number) as ask:
                self._open[number] = asked = OpenRequest(ask)
                self._tasks.put(partial(self._begin, asked))
            case Count() as count:
                self._tasks.put(partial(self._count, count))
            case Leave(number):
                if known := self._open.get(number):
                    known.leave()
            case _ if refusal := refused(line):
                self._tasks.put(partial(self._send, refusal))

    def _stop(self) -> None:
        """Ends all answers, and then the process, however long a pass takes."""
        self._stopped.set()
        for asked in [*self._open.values()]:
            asked.leave()
        self._tasks.put(None)
        # A pass in native code cannot be interrupted, and nobody is left to read its result.
        if not self._done.wait(_PATIENCE_S):
            os._exit(0)

    def _load(self, load: Load) -> None:
        progress = progress_told(lambda share: self._send(Loading(share)), self._stopped.is_set)
        try:
            if self._loaded:
                raise EngineError("models are loaded already: start another process for others")
            opened = open_what_fits(load, progress)
            recall(opened.engine)  # before there are sessions, which keep the controller that they begin with
            answers = Answers(opened.engine, self._send, self._ended)
            upkeep = Upkeep(opened.engine, answers.places.any.pair.lock, self._keep_every_s)
            self._loaded = _Loaded(opened.engine, answers, upkeep)
            self._send(describe(opened))
        except EngineError as error:
            self._send(Failed(str(error)))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - the log gets the traceback
            self._send(Failed(unexpected(error)))

    def _begin(self, asked: OpenRequest) -> None:
        if self._loaded is None:
            self._send(Failed("no model is loaded", asked.number))
            del self._open[asked.number]
        elif thread := self._loaded.answers.begin(asked):
            self._threads[asked.number] = thread

    def _count(self, count: Count) -> None:
        if self._loaded is None:
            self._send(Failed("no model is loaded", count.number))
        else:
            self._loaded.answers.count(count)

    def _ended(self, number: int) -> None:
        """An answer has ended, or a count, in its thread."""
        self._open.pop(number, None)
        self._tasks.put(partial(self._note_end, number))

    def _note_end(self, number: int) -> None:
        """Notes that a request has ended. A count has no thread here: it teaches nothing."""
        if self._threads.pop(number, None) and self._loaded:
            self._loaded.upkeep.answered()

    def _close(self) -> None:
        """Waits for all answers, which were told to end, keeps what was learned, and frees the models."""
        for number, thread in [*self._threads.items()]:
            thread.join()
            self._note_end(number)
        if self._loaded:
            self._loaded.upkeep.keep()
            self._loaded.engine.close()

    def _send(self, event: Event) -> None:
        """Writes an event. Raises BrokenPipeError if nobody reads the events any more."""
        line = encode(event)
        with self._writing:
            write_all(self._events, line)
