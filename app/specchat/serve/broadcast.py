"""Sends watchers every answer while it is given. One that is slow loses events: no answer ever waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from itertools import count
from typing import Any

from specchat.engine_process.protocol import Ended, Started
from specchat.serve.answers.deltas import trace_line
from specchat.serve.answers.shape import event as encoded
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Round

ROOM = 1024
"""The events that may wait for a watcher. Further ones are lost for it."""

MOST_WATCHERS = 16


class Broadcast:
    """Sends the events of all answers to all watchers. Unless watching is `allowed`, it keeps and sends nothing."""

    def __init__(self, *, allowed: bool, room: int = ROOM) -> None:
        self.allowed = allowed
        self._room = room
        self._watchers: set[_Watcher] = set()
        self._numbers = count(1)
        self._running: dict[int, list[Started | Round]] = {}

    @property
    def is_full(self) -> bool:
        """True if the number of watchers is at its limit."""
        return len(self._watchers) >= MOST_WATCHERS

    def next_number(self) -> int:
        """The number of another answer."""
        return next(self._numbers)

    def take(self, number: int, event: Started | Round | Ended) -> None:
        """Sends an event of the answer with this number."""
        if not self.allowed:
            return
        match event:
            case Started():
                self._running[number] = [event]
            case Round():
                self._running[number].append(event)
            case Ended():
                if self._running.pop(number, None) is None:
                    return
        self._offer(number, trace_line(event))

    def break_off(self, number: int, reason: str, message: str = "") -> None:
        """Reports that an answer ended before it was complete, and the error if there was one. Else does nothing."""
        parts = self._running.pop(number, None)
        if parts is None:
            return
        trace = _trace_of(parts)
        if message:
            self._offer(number, {"type": "error", "message": message})
        self._offer(number, trace_line(Ended(reason, trace.text, dict(trace.stats))))

    async def events(self) -> AsyncGenerator[bytes, None]:
        """The events for one watcher, without an end.

        It begins with what runs now, each answer from its start. After a loss it begins in the same way again.
        """
        watcher = _Watcher(self._room)
        self._watchers.add(watcher)
        try:
            while True:
                lost = watcher.resume()
                parts = [(number, part) for number, running in self._running.items() for part in running]
                yield encoded({"type": "watch", "running": [*self._running], "lost": lost})
                for number, part in parts:
                    yield _line(number, trace_line(part))
                    await asyncio.sleep(0)  # a long answer keeps nobody else waiting
                while (line := await watcher.next()) is not None:
                    yield line
        finally:
            self._watchers.discard(watcher)

    def _offer(self, number: int, line: Mapping[str, Any]) -> None:
        if self._watchers:
            event = _line(number, line)
            for watcher in self._watchers:
                watcher.offer(event)


class _Watcher:
    """The events that wait for one watcher.

    If there is no room for one, it and all that follow are lost until the others are taken: a loss is one gap.
    """

    def __init__(self, room: int) -> None:
        self._waiting: asyncio.Queue[bytes] = asyncio.Queue(room)
        self._lost = 0

    def offer(self, event: bytes) -> None:
        """Takes an event, or counts it as lost."""
        if self._lost or self._waiting.full():
            self._lost += 1
        else:
            self._waiting.put_nowait(event)

    async def next(self) -> bytes | None:
        """The next event. None if the following ones are lost."""
        if self._lost and self._waiting.empty():
            return None
        return await self._waiting.get()

    def resume(self) -> int:
        """Takes events again. Returns the number of those that were lost."""
        lost, self._lost = self._lost, 0
        return lost


def _line(number: int, line: Mapping[str, Any]) -> bytes:
    """A line of a trace as an event, with the number of its request."""
    return encoded({"request": number, **line})


def _trace_of(parts: list[Started | Round]) -> Trace:
    """The trace of an answer that has no end."""
    start = next(part.line for part in parts if isinstance(part, Started))
    return Trace(start, tuple(part for part in parts if isinstance(part, Round)))
