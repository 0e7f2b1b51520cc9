"""The engine's process as the application sees it: started on demand, talked to, ended, and its end explained."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from specchat.worker.process_log import ProcessLog
from specchat.worker.protocol import Cancel, Command, Event, LastEvent, Quit, WorkerFailed, decode_event, encode

_PATIENCE = 2.0
# Otherwise a failed assertion starts a debugger, if there is one, and its output buries the reason; and numpy starts
# threads for matrix products, which are not used here and spin while they wait.
_ENVIRONMENT = {"GGML_NO_BACKTRACE": "1", "OPENBLAS_NUM_THREADS": "1"}


def command_of(module: str) -> tuple[str, ...]:
    """The command that runs a module as an engine's process."""
    # -P: a file named numpy.py in the folder where specchat was started must not be imported.
    return sys.executable, "-P", "-m", module


def environment() -> dict[str, str]:
    """The variables that an engine's process is started with."""
    return _ENVIRONMENT | os.environ


class EngineProcess:
    """One child process at a time, started on demand and again after it died.

    Only one thread at a time may call `converse`; any thread may call `send` and `close` at any time.
    """

    def __init__(self, log_path: Path) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self._log = ProcessLog(log_path)
        self._closed = False
        self._begun: Command | None = None
        self._changing = threading.RLock()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.child is not None and self.child.poll() is None

    def begin(self, command: Command) -> None:
        """Sends a command early, so that the process works while nobody can listen yet. `converse` then has its events,
        and any error.
        """
        with suppress(OSError):
            self._running()
            self._begun = command
            self.send(command)

    def converse(self, command: Command, sent: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """Sends a command, unless it was begun, calls `sent`, and yields the command's events up to the last one."""
        try:
            child, events = self._running()
        except OSError as problem:
            yield WorkerFailed(f"the engine's process cannot be started: {problem}", died=True)
            return
        begun, self._begun = self._begun, None
        if begun is not None and begun != command:
            self._abandon(child, events)
        if begun != command:
            self.send(command)
        sent()
        finished = False
        try:
            for event in self._events(child, events):
                finished = isinstance(event, LastEvent)
                yield event
                if finished:
                    return
        finally:
            if not finished:
                self._abandon(child, events)

    def send(self, command: Command) -> None:
        """Writes a command, if the process is there. Whoever reads the events learns why it is gone."""
        with self._changing:
            child = self.child
            if child is None or child.stdin is None or child.stdin.closed:
                return
            with suppress(OSError):
                child.stdin.write(encode(command))
                child.stdin.flush()

    def close(self) -> subprocess.Popen[bytes] | None:
        """Ends the process for good, by force if necessary; returns the process if there was one."""
        with self._changing:
            self._closed = True
            child = self.child
        if child is not None:
            self.send(Quit())
            _wait(child)
        return child

    def bury(self, child: subprocess.Popen[bytes]) -> None:
        """Waits for a process that ends, and closes the pipes to it."""
        _wait(child)
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _events(self, child: subprocess.Popen[bytes], events: IO[bytes]) -> Iterator[Event]:
        """The process's events, and the reason when it ends."""
        for line in events:
            event = decode_event(line)
            if event is not None:
                yield event
        self.bury(child)
        reason = "the engine was closed" if self._closed else None
        yield WorkerFailed(reason or self._log.describe_death(child.returncode), died=True)

    def _abandon(self, child: subprocess.Popen[bytes], events: IO[bytes]) -> None:
        """Stops a command that nobody listens to any more, and takes its remaining events out of the pipe."""
        self.send(Cancel())
        for event in self._events(child, events):
            if isinstance(event, LastEvent):
                return

    def _running(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """The process and its events; starts one if none runs. Raises OSError if none can be started."""
        with self._changing:
            if self._closed:
                raise OSError("the engine was closed")
            if self.child is None or self.child.poll() is not None:
                if self.child is not None:
                    self.bury(self.child)
                self._begun = None
                self.child = self._start()
            if self.child.stdout is None:
                raise OSError("it has no pipe")
            return self.child, self.child.stdout

    def _start(self) -> subprocess.Popen[bytes]:
        command, pipe = command_of("specchat.worker"), subprocess.PIPE
        with self._log.open() as log:
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=environment())


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Waits for a process to end, and kills it after a while."""
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
