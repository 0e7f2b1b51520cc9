"""The way of events to the application: several in one write, so that a fast engine wakes nobody at every round."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import BinaryIO

from specchat.worker.codec import encode_events
from specchat.worker.protocol import Event

PAUSE = 1 / 20
"""Seconds between two writes at least; what comes in between goes together."""


class Outbox:
    """Encodes and writes events, the first one after a pause at once and those behind it together.

    The sender writes, since a thread that encodes would hold Python's lock when a pass of the engine ends. A second
    thread only writes what the sender, busy with a long pass, has left lying for two pauses.
    """

    def __init__(self, pipe: BinaryIO) -> None:
        self._pipe = pipe
        self._events: deque[Event] = deque()
        self._written = 0.0
        self._writing = threading.Lock()
        self._closed = threading.Event()
        self._broken = False
        threading.Thread(target=self._look_after, name="events", daemon=True).start()

    def send(self, event: Event) -> None:
        """Sends an event, which nobody changes afterwards. Raises BrokenPipeError where nobody reads any more."""
        self._events.append(event)
        if monotonic() - self._written >= PAUSE:
            self.flush()

    def flush(self) -> None:
        """Writes all that was sent. Raises BrokenPipeError where nobody reads any more."""
        with self._writing:
            if self._broken:
                raise BrokenPipeError("nobody reads the events")
            events = [self._events.popleft() for _ in range(len(self._events))]
            lines = bytearray("".join(f"{line}\n" for line in encode_events(events)), "utf-8")
            try:
                while lines:
                    del lines[: self._pipe.write(lines)]
                self._pipe.flush()
            except OSError:
                self._broken = True
            self._written = monotonic()

    def close(self) -> None:
        """Writes what is left, and no more."""
        self._closed.set()
        if not self._broken:
            self.flush()

    def _look_after(self) -> None:
        with suppress(BrokenPipeError):
            while not self._closed.wait(PAUSE):
                if self._events and monotonic() - self._written >= 2 * PAUSE:
                    self.flush()
