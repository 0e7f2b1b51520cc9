"""The engine as the HTTP server sees it: started, asked by several requests at a time, and started again if it dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from specchat.serve.admission import Admission
from specchat.serve.engine_link import EngineLink
from specchat.serve.errors import EngineDied, LoadFailed, RequestFailed
from specchat.serve.in_progress import Part, Running
from specchat.serve.protocol import (
    Ask,
    Begun,
    Count,
    Counted,
    Event,
    Failed,
    Finished,
    Leave,
    Made,
    Request,
    encode,
)
from specchat.worker.client import named
from specchat.worker.protocol import Load, Loaded, WorkerFailed

_CLOSED = "the engine was closed"
_SHORT_LIVED = "the engine's process ended as soon as it had loaded the models"


class ProcessEngine:
    """One engine process at a time, for one event loop.

    `info` has what was loaded last, from `start` on. `deaths` counts how often the process ended unasked.
    """

    info: Loaded

    def __init__(self, log_path: Path, load: Load, *, places: int, waiting: int) -> None:
        """Starts nothing yet. `places` answers are given at the same time, and `waiting` more requests may wait."""
        self._log_path = log_path
        self._load = replace(load, options=replace(load.options, parallel=places))
        self._admission = Admission(places, waiting)
        self._numbers = count(1)
        self._running: dict[int, Running] = {}
        self._link: EngineLink | None = None
        self._starting: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._closed = False
        self.deaths = 0

    @property
    def alive(self) -> bool:
        """Whether the process runs with loaded models."""
        return self._link is not None and self._link.is_loaded

    @property
    def pid(self) -> int | None:
        """The number of the process, None if there is none."""
        return self._link.pid if self._link else None

    @property
    def running(self) -> int:
        """How many requests have a place."""
        return self._admission.running

    @property
    def waiting(self) -> int:
        """How many requests wait for a place."""
        return self._admission.waiting

    async def start(self) -> None:
        """Starts the process and loads the models. Raises LoadFailed, and EngineDied once the client is closed."""
        await self._ready()

    async def answer(self, request: Request) -> AsyncGenerator[Part, None]:
        """Answers a request: Begun, Made… and Finished.

        It waits for a place first, and for a new process if the last one died. If it is closed early, or its task
        cancelled, the answer ends before its next round. Raises Busy, RequestFailed, EngineDied or LoadFailed.
        """
        number = next(self._numbers)
        place = await self._admission.enter()
        try:
            link = await self._ready()
            link.send_line(_encoded(Ask(number, request)))
        except BaseException:
            place.leave()
            raise
        running = self._running[number] = Running(place)
        try:
            async with aclosing(running.parts()) as parts:
                async for part in parts:
                    yield part
        finally:
            if number in self._running:
                link.send(Leave(number))

    async def count(self, request: Request) -> int:
        """How many tokens the prompt of a request has; takes no place. Raises RequestFailed, EngineDied, LoadFailed."""
        number = next(self._numbers)
        link = await self._ready()
        link.send_line(_encoded(Count(number, request)))
        running = self._running[number] = Running()
        try:
            return await running.counted()
        finally:
            self._running.pop(number, None)

    async def close(self) -> None:
        """Ends the process, by force if necessary. Requests that run or wait fail with EngineDied."""
        self._closed = True
        _end_all(self._taken(), _CLOSED)
        if self._link:
            await self._link.end()
        if self._starting:
            await asyncio.wait([self._starting])
        if self._listening:
            await asyncio.wait([self._listening])

    async def _ready(self) -> EngineLink:
        """The process with loaded models; starts one if there is none. Whoever waits for it may go away."""
        if self._closed:
            raise EngineDied(_CLOSED)
        if not self.alive:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start())
                self._starting.add_done_callback(self._started)
            await asyncio.shield(self._starting)
        if self._link is None or not self.alive:
            raise EngineDied(_CLOSED if self._closed else _SHORT_LIVED)
        return self._link

    async def _start(self) -> None:
        """Starts a process after the last one has ended, and waits until it has loaded the models."""
        if self._listening:
            await asyncio.wait([self._listening])
        try:
            link = await EngineLink.start(self._log_path)
        except OSError as problem:
            raise LoadFailed(f"the engine's process cannot be started: {problem}") from None
        self._link = link
        self._listening = asyncio.create_task(self._listen(link))
        link.send(self._load)
        if self._closed:
            await link.end()
        try:
            self.info = await link.loaded
        except LoadFailed as error:
            await link.end()
            raise EngineDied(_CLOSED) if self._closed else error from None

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting = None
        with suppress(asyncio.CancelledError):
            task.exception()  # whoever waits for it raises it; perhaps nobody does any more

    async def _listen(self, link: EngineLink) -> None:
        """Hands the events of a process to those who wait for them, and tells them when it has ended."""
        try:
            async for event in link.events():
                self._hear(link, event)
        finally:
            running, self._link = self._taken(), None
            reason = await link.death()
            if not link.ending:
                self.deaths += 1
            if not link.loaded.done():
                failed = named(WorkerFailed(reason, died=True), self._load)
                link.loaded.set_exception(LoadFailed(failed.message))
            _end_all(running, reason)

    def _hear(self, link: EngineLink, event: Event) -> None:
        match event:
            case Loaded():
                link.loaded.set_result(event)
            case Failed(message=message, number=None):
                if not link.loaded.done():
                    link.loaded.set_exception(LoadFailed(message))
            case Begun(number=number) | Made(number=number):
                if number in self._running:
                    self._running[number].tell(event)
            case Finished(number=number) | Counted(number=number) | Failed(number=int(number)):
                if running := self._running.pop(number, None):
                    running.end(event)

    def _taken(self) -> list[Running]:
        """What is in progress, of which nothing is heard any more."""
        running, self._running = [*self._running.values()], {}
        return running


def _end_all(running: list[Running], reason: str) -> None:
    for one in running:
        one.end(EngineDied(reason))


def _encoded(command: Ask | Count) -> bytes:
    try:
        return encode(command)
    except RecursionError:
        raise RequestFailed("the request is nested too deeply", theirs=True) from None
