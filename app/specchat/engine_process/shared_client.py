"""The engine as the HTTP server sees it: started, asked by several requests at a time, and started again if it dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import IO

from specchat.engine_process.admission import Admission, Place
from specchat.engine_process.errors import EngineDied, LoadFailed, RequestFailed
from specchat.engine_process.local_client import named
from specchat.engine_process.process import CLOSED, EngineProcess
from specchat.engine_process.protocol import (
    Cancel,
    Count,
    Ended,
    Event,
    Generate,
    LastEvent,
    Load,
    Loaded,
    Scored,
    Started,
    Task,
    TaskFailed,
    TokenCount,
    decode_event,
)
from specchat_engine.decoding.rounds import Round

_LONGEST_LINE = 2**30
_PATIENCE_S = 5.0
"""The process gets this long to end; it gives up a little earlier itself."""

_SHORT_LIVED = "the engine's process ended as soon as it had loaded the models"

AnswerEvent = Started | Scored | Round | Ended
"""The events of an answer: Started, its rounds, each after its scores if there are any, and Ended."""


@dataclass(slots=True)
class _Open:
    """A task that the process works on, and its events that nobody has read yet."""

    place: Place | None = None
    events: asyncio.Queue[Event] = field(default_factory=asyncio.Queue)

    def add(self, event: Event) -> None:
        """Adds an event; the last one frees the place."""
        if self.place and isinstance(event, LastEvent):
            self.place.leave()
        self.events.put_nowait(event)


class SharedClient:
    """One engine process at a time, for one event loop.

    `info` has what was loaded last, from `start` on. `deaths` counts how often the process ended unasked.
    """

    info: Loaded

    def __init__(self, log_path: Path, load: Load, *, places: int, waiting: int) -> None:
        """Starts nothing yet. `places` answers are given at the same time, and `waiting` more requests may wait."""
        self._log_path = log_path
        self._load = replace(load, options=replace(load.options, parallel=places), serves=True)
        self._admission = Admission(places, waiting)
        self._numbers = count(1)
        self._open: dict[int, _Open] = {}
        self._process: EngineProcess | None = None
        self._starting: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._is_loaded = self._closed = False
        self.deaths = 0

    @property
    def alive(self) -> bool:
        """True while the process runs with loaded models."""
        return self._process is not None and self._is_loaded

    @property
    def pid(self) -> int | None:
        """The id of the process, None if there is none."""
        return self._process.child.pid if self._process else None

    @property
    def running(self) -> int:
        """The number of requests that have a place."""
        return self._admission.running

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a place."""
        return self._admission.waiting

    async def start(self) -> None:
        """Starts the process and loads the models. Raises LoadFailed, and EngineDied once the client is closed."""
        await self._ready()

    async def answer(self, request: Generate) -> AsyncGenerator[AnswerEvent, None]:
        """Answers a request: Started, rounds and Ended.

        It waits for a place first, and for a new process if the last one died. If it is closed early, or its task
        cancelled, the answer ends before its next round. Raises Busy, RequestFailed, EngineDied or LoadFailed.
        """
        place = await self._admission.enter()
        try:
            process = await self._ready()
        except BaseException:
            place.leave()
            raise
        async with aclosing(self._events(process, request, place)) as events:
            async for event in events:
                if isinstance(event, AnswerEvent):
                    yield event

    async def count(self, request: Generate) -> int:
        """Counts the tokens of a prompt; takes no place. Raises RequestFailed, EngineDied or LoadFailed."""
        async with aclosing(self._events(await self._ready(), Count(request))) as events:
            return next(event.tokens for event in [event async for event in events] if isinstance(event, TokenCount))

    async def close(self) -> None:
        """Ends the process, by force if necessary. Requests that run or wait fail with EngineDied."""
        self._closed = True
        self._end_all(TaskFailed(CLOSED, died=True))
        if self._process:
            await asyncio.to_thread(self._process.end)
        for task in (self._starting, self._listening):
            if task:
                await asyncio.wait([task])

    async def _events(
        self, process: EngineProcess, task: Task, place: Place | None = None
    ) -> AsyncGenerator[Event, None]:
        """Sends a task and yields its events up to the last one. Raises RequestFailed or EngineDied."""
        number = next(self._numbers)
        open_task = self._open[number] = _Open(place)
        sent = asyncio.ensure_future(asyncio.to_thread(process.write, task, number))
        try:
            await asyncio.shield(sent)
            while True:
                match await open_task.events.get():
                    case TaskFailed(message=message, died=True):
                        raise EngineDied(message)
                    case TaskFailed(message=message, asked_wrong=asked_wrong, too_long=too_long):
                        raise RequestFailed(message, theirs=asked_wrong, too_long=too_long)
                    case event:
                        yield event
                        if isinstance(event, LastEvent):
                            return
        except RecursionError:
            self._hear(number, TaskFailed("the request is nested too deeply"))
            raise RequestFailed("the request is nested too deeply", theirs=True) from None
        finally:
            if number in self._open:
                loop = asyncio.get_running_loop()
                sent.add_done_callback(lambda _: loop.run_in_executor(None, process.write, Cancel(), number))

    async def _ready(self) -> EngineProcess:
        """Returns the process with loaded models; starts one if there is none. Callers may be cancelled."""
        if self._closed:
            raise EngineDied(CLOSED)
        if not self.alive:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
                self._starting.add_done_callback(self._started)
            await asyncio.shield(self._starting)
        if self._process is None or not self.alive:
            raise EngineDied(CLOSED if self._closed else _SHORT_LIVED)
        return self._process

    async def _start(self) -> None:
        """Starts a process after the last one has ended, and waits until it has loaded the models."""
        if self._listening:
            await asyncio.wait([self._listening])
        if self._closed:
            raise EngineDied(CLOSED)
        try:
            process = self._process = EngineProcess(self._log_path, _PATIENCE_S)
        except OSError as problem:
            raise LoadFailed(f"the engine's process cannot be started: {problem}") from None
        self._listening = asyncio.create_task(self._listen(process))
        try:
            async with aclosing(self._events(process, self._load)) as events:
                async for event in events:
                    if isinstance(event, Loaded):
                        self.info, self._is_loaded = event, True
        except (RequestFailed, EngineDied) as error:
            await asyncio.to_thread(process.end)
            if self._closed:
                raise EngineDied(CLOSED) from None
            raise LoadFailed(named(TaskFailed(str(error), died=True), self._load).message) from None

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting = None
        with suppress(asyncio.CancelledError):
            task.exception()  # whoever waits for it raises it; perhaps nobody does any more

    async def _listen(self, process: EngineProcess) -> None:
        """Passes the events of a process to the tasks that wait for them; fails these when it has ended."""
        try:
            async for line in _lines(process.events):
                number, event = decode_event(line)
                if event is not None:
                    self._hear(number, event)
        finally:
            self._process, self._is_loaded = None, False
            failed = await asyncio.to_thread(process.death)
            self.deaths += not process.ending
            self._end_all(failed)

    def _hear(self, number: int, event: Event) -> None:
        if not number and isinstance(event, TaskFailed):  # the process could not begin
            self._end_all(event)
        elif open_task := self._open.get(number):
            if isinstance(event, LastEvent):
                del self._open[number]
            open_task.add(event)

    def _end_all(self, failed: TaskFailed) -> None:
        """Ends everything that is in progress and reports nothing more of it."""
        open_tasks, self._open = self._open, {}
        for task in open_tasks.values():
            task.add(failed)


async def _lines(pipe: IO[bytes]) -> AsyncIterator[bytes]:
    """The lines of a pipe until it is closed."""
    reader = asyncio.StreamReader(limit=_LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    while line := await reader.readline():
        yield line
