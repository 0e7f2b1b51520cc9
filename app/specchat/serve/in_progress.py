"""A request that the engine's process works on, and what it has said of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from specchat.serve.admission import Place
from specchat.serve.errors import EngineDied, RequestFailed
from specchat.serve.protocol import Begun, Counted, Failed, Finished, Made

Part = Begun | Made | Finished
"""A part of an answer."""


class Running:
    """An answer in a place, or the count of a prompt, which needs none."""

    def __init__(self, place: Place | None = None) -> None:
        self._place = place
        self._events: asyncio.Queue[Part | Counted | Failed | EngineDied] = asyncio.Queue()

    def tell(self, event: Begun | Made) -> None:
        """Hands on an event."""
        self._events.put_nowait(event)

    def end(self, last: Finished | Counted | Failed | EngineDied) -> None:
        """Hands on the last event or the error that there is, and frees the place."""
        if self._place:
            self._place.leave()
        self._events.put_nowait(last)

    async def parts(self) -> AsyncGenerator[Part, None]:
        """The parts of the answer. Raises RequestFailed or EngineDied."""
        while not isinstance(event := await self._next(), Counted):
            yield event
            if isinstance(event, Finished):
                return

    async def counted(self) -> int:
        """The number that was counted. Raises RequestFailed or EngineDied."""
        while not isinstance(event := await self._next(), Counted):
            pass
        return event.tokens

    async def _next(self) -> Part | Counted:
        event = await self._events.get()
        match event:
            case Failed(message=message, theirs=theirs, too_long=too_long):
                raise RequestFailed(message, theirs=theirs, too_long=too_long)
            case EngineDied():
                raise event
        return event
