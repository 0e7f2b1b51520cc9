"""What the server asks of an engine; `engine_client.ProcessEngine` is one in a process of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Protocol

from specchat.serve.protocol import Begun, Finished, Made, Request
from specchat.worker.protocol import Loaded

Answering = AsyncGenerator[Begun | Made | Finished, None]
"""The events of one answer: Begun, Made for each round, Finished. Closing it frees the answer's place."""


class ServingEngine(Protocol):
    """Answers several requests at a time."""

    info: Loaded
    """What is loaded."""

    @property
    def running(self) -> int:
        """How many requests have a place."""
        ...

    @property
    def waiting(self) -> int:
        """How many requests wait for one."""
        ...

    @property
    def deaths(self) -> int:
        """How often the engine's process ended without being asked to."""
        ...

    @property
    def alive(self) -> bool:
        """Whether the engine's process runs."""
        ...

    def answer(self, request: Request) -> Answering:
        """Answers a request. Its first event raises Busy at once if too many wait already.

        Raises RequestFailed, EngineDied or LoadFailed.
        """
        ...

    async def count(self, request: Request) -> int:
        """How many tokens the prompt of a request has. Raises the same errors."""
        ...
