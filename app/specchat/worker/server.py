"""The engine's process: obeys commands one after the other while a second thread listens for the urgent ones."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import suppress
from typing import BinaryIO

from specchat.worker.codec import decode_command
from specchat.worker.outbox import Outbox
from specchat.worker.protocol import Cancel, Generate, Inspect, Keep, Load, Prepare, Quit, Recall, Threads, Time
from specchat.worker.work import Task, Work

_PATIENCE = 3.0


class Server:
    """Reads commands from one stream and writes events to another until the first one ends."""

    def __init__(self, commands: BinaryIO, events: BinaryIO) -> None:
        self._commands = commands
        self._outbox = Outbox(events)
        self._work = Work(self._outbox)
        self._waiting: queue.SimpleQueue[Task | Prepare | Threads | None] = queue.SimpleQueue()
        self._done = threading.Event()

    def run(self) -> int:
        """Serves until `quit` or the end of the commands; returns the exit code."""
        threading.Thread(target=self._listen, name="commands", daemon=True).start()
        with suppress(BrokenPipeError):
            while (command := self._next()) is not None:
                if isinstance(command, Prepare):
                    self._work.prepare(command, lambda: not self._waiting.empty())
                    continue
                if isinstance(command, Threads):
                    self._work.measure_again(command)
                    continue
                for event in self._work.events(command):
                    self._outbox.send(event)
        self._outbox.close()
        self._done.set()
        self._work.close()
        return 0

    def _next(self) -> Task | Prepare | Threads | None:
        """The next command; while there is none, the costs of a pair that is not known yet are measured."""
        while True:
            try:
                return self._waiting.get_nowait()
            except queue.Empty:
                if self._work.measured_all():
                    return self._waiting.get()

    def _listen(self) -> None:
        for line in self._commands:
            command = decode_command(line)
            if isinstance(command, Quit):
                break
            if command is None:
                continue
            self._work.hear(command)
            if isinstance(command, Load | Generate | Inspect | Keep | Recall | Time | Prepare | Threads):
                self._waiting.put(command)
        self._work.hear(Cancel())
        self._waiting.put(None)
        # A pass in native code cannot be interrupted, and nobody is left who waits for its result.
        if not self._done.wait(_PATIENCE):
            os._exit(0)
