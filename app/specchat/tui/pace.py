"""Limits how often something is called. The last request always leads to a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.events import Callback
from textual.message_pump import MessagePump


class Throttle:
    """Calls `draw` at once after a quiet time, else when the pause is over. Many requests in a pause make one call."""

    __slots__ = ("_draw", "_owner", "_pause", "_timer", "_wanted")

    def __init__(self, owner: MessagePump, pause: float, draw: Callable[[], None]) -> None:
        self._owner = owner
        self._pause = pause
        self._draw = draw
        self._timer: asyncio.TimerHandle | None = None
        self._wanted = False

    def request(self) -> None:
        """Requests a call."""
        if self._timer is not None:
            self._wanted = True
            return
        due = Callback(self._pause_over)
        self._timer = asyncio.get_running_loop().call_later(self._pause, self._owner.post_message, due)
        self._draw()

    def cancel(self) -> None:
        """Drops a request that waits."""
        self._wanted = False

    def _pause_over(self) -> None:
        self._timer = None
        if self._wanted:
            self._wanted = False
            self.request()
