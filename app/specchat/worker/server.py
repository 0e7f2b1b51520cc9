"""The engine's process: works off commands one after the other while a second thread listens for urgent ones."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import suppress
from typing import BinaryIO

from specchat.worker.protocol import Cancel, Event, Quit, Task, decode_command, encode
from specchat.worker.streams import write_all
from specchat.worker.work import Work

_PATIENCE = 3.0
"""Seconds that a running pass gets to end after the commands ended."""


class Server:
    """Reads commands from one stream and writes events to another, until the first one ends."""

    def __init__(self, commands: BinaryIO, events: BinaryIO) -> None:
        """`events` is unbuffered: what is written goes out at once."""
        self._commands = commands
        self._events = events
        self._work = Work(self._send)
        self._waiting: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._done = threading.Event()
        self._sending = threading.Lock()

    def run(self) -> int:
        """Serves until `Quit` or the end of the commands; returns the exit code."""
        threading.Thread(target=self._listen, name="commands", daemon=True).start()
        with suppress(BrokenPipeError):
            while (command := self._next()) is not None:
                self._work.do(command, lambda: not self._waiting.empty())
        self._done.set()
        self._work.close()
        return 0

    def _next(self) -> Task | None:
        """The next command. While there is none, the loaded pair is measured."""
        while self._waiting.empty() and self._work.measure():
            pass
        return self._waiting.get()

    def _listen(self) -> None:
        for line in self._commands:
            command = decode_command(line)
            if isinstance(command, Quit):
                break
            if command is not None:
                self._work.hear(command)
            if isinstance(command, Task):
                self._waiting.put(command)
        self._work.hear(Cancel())
        self._waiting.put(None)
        # A pass in native code cannot be interrupted, and nobody is left to read its result.
        if not self._done.wait(_PATIENCE):
            os._exit(0)

    def _send(self, event: Event) -> None:
        """Writes an event, from any thread. Raises BrokenPipeError if nobody reads the events any more."""
        with self._sending:
            write_all(self._events, encode(event))
