"""The engine as the HTTP server sees it: started, asked by several requests at a time, and started again if it dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from specchat.serve.admission import Admission, Place
from specchat.serve.engine_link import EngineLink
from specchat.serve.errors import EngineDied, LoadFailed, RequestFailed
from specchat.serve.protocol import Ask, Begun, Command, Event, Failed, Finished, Leave, Made, Request, encode
from specchat.worker.client import named
from specchat.worker.protocol import Load, Loaded, WorkerFailed

Part = Begun | Made | Finished
"""A part of an answer."""

_CLOSED = "the engine was closed"


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer that is being given: its place, and what the process has said of it."""

    place: Place
    events: asyncio.Queue[Part | Failed | EngineDied] = field(default_factory=asyncio.Queue)

    def end(self, last: Finished | Failed | EngineDied) -> None:
        """Frees the place, and tells the last that there is."""
        self.place.leave()
        self.events.put_nowait(last)


class EngineClient:
    """One engine process at a time, for one event loop.

    `deaths` counts how often the process ended unasked.
    """

    def __init__(self, log_path: Path, load: Load, *, places: int, waiting: int) -> None:
        """Starts nothing yet. `places` answers are given at the same time, and `waiting` more requests may wait."""
        self._log_path = log_path
        self._load = replace(load, options=replace(load.options, parallel=places))
        self._admission = Admission(places, waiting)
        self._numbers = count(1)
        self._answers: dict[int, _Answer] = {}
        self._link: EngineLink | None = None
        self._starting: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._info: Loaded | None = None
        self._closed = False
        self.deaths = 0

    @property
    def info(self) -> Loaded:
        """What is loaded, or was until the process died. Raises LoadFailed before anything was."""
        if self._info is None:
            raise LoadFailed("no model is loaded yet")
        return self._info

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
        line = _encoded(Ask(number, request))
        place = await self._admission.enter()
        try:
            link = await self._ready()
        except BaseException:
            place.leave()
            raise
        answer = self._answers[number] = _Answer(place)
        link.send_line(line)
        try:
            while True:
                event = await answer.events.get()
                match event:
                    case Failed(message=message, theirs=theirs):
                        raise RequestFailed(message, theirs=theirs)
                    case EngineDied():
                        raise event
                yield event
                if isinstance(event, Finished):
                    return
        finally:
            if number in self._answers:
                link.send(Leave(number))

    async def close(self) -> None:
        """Ends the process, by force if necessary. Requests that run or wait fail with EngineDied."""
        self._closed = True
        self._end(self._taken_answers(), _CLOSED)
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
            raise EngineDied("the engine's process ended as soon as it had loaded the models")
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
            self._info = await link.loaded
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
            answers, self._link = self._taken_answers(), None
            reason = await link.death()
            if not link.ending:
                self.deaths += 1
            if not link.loaded.done():
                failed = named(WorkerFailed(reason, died=True), self._load)
                link.loaded.set_exception(LoadFailed(failed.message))
            self._end(answers, reason)

    def _taken_answers(self) -> Iterable[_Answer]:
        """The running answers, which have no more events from now on."""
        answers, self._answers = self._answers, {}
        return answers.values()

    def _end(self, answers: Iterable[_Answer], reason: str) -> None:
        for answer in answers:
            answer.end(EngineDied(reason))

    def _hear(self, link: EngineLink, event: Command | Event) -> None:
        match event:
            case Loaded():
                link.loaded.set_result(event)
            case Failed(message=message, number=None):
                if not link.loaded.done():
                    link.loaded.set_exception(LoadFailed(message))
            case Begun(number=number) | Made(number=number):
                if number in self._answers:
                    self._answers[number].events.put_nowait(event)
            case Finished(number=number) | Failed(number=int(number)):
                if answer := self._answers.pop(number, None):
                    answer.end(event)


def _encoded(ask: Ask) -> bytes:
    try:
        return encode(ask)
    except RecursionError:
        raise RequestFailed("the request is nested too deeply", theirs=True) from None
