"""A message of a widget on its way through the widgets above it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from textual.message import Message
from textual.message_pump import MessagePump
from textual.widget import Widget

_PATIENCE = 1.0


class Handover:
    """Posts a message past the widget's own queue, which waits until the message is handled."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._over: asyncio.Event | None = None

    async def done(self) -> None:
        """Waits until the last message is handled, but not for long."""
        if self._over is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), _PATIENCE)
            self._over = None

    def begin(self, message: Message) -> None:
        """Posts a message and follows it up."""
        self._over = asyncio.Event()
        above: list[MessagePump] = list(self._widget.ancestors)
        above[0].post_message(message)
        self._follow(above)

    def end(self) -> None:
        """Notes that the message is handled."""
        if self._over is not None:
            self._over.set()

    def _follow(self, above: list[MessagePump]) -> None:
        """Reaches each ancestor after the message. After the last one, the message has been handled."""
        if above:
            above[0].call_later(self._follow, above[1:])
        else:
            self.end()
