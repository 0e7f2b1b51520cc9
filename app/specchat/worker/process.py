"""The engine's process as the application sees it: started on demand, talked to, ended, and its end explained."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from specchat.worker.protocol import Cancel, Command, Event, LastEvent, Quit, WorkerFailed, decode_event, encode

ENDED = "the engine's process ended"
"""How the line begins that says why the process ended."""

_TAIL_BYTES = 8192
_ASSERTIONS = ("GGML_ASSERT", "GGML_ABORT")
_COMPLAINTS = ("rror", "failed", "out of memory")
_BUILD_FOLDER = re.compile(r"^\S*/(?=[^/\s]+:\d+:)")
_HINTS = {
    "SIGKILL": "killed from outside; often the system was out of memory",
    "SIGABRT": "aborted in native code",
    "SIGSEGV": "crashed in native code",
    "SIGBUS": "crashed in native code; a model file may have changed or the disk be full",
    "SIGILL": "this processor lacks an instruction that llama.cpp was built with: reinstall llama-cpp-python on it",
    "SIGTERM": "asked to end from outside",
}

_LOG_LIMIT = 1_000_000
_PATIENCE = 2.0
# Otherwise a failed assertion starts a debugger, if there is one, and its output buries the reason; and numpy starts
# threads for matrix products, which are not used here and spin while they wait.
_ENVIRONMENT = {"GGML_NO_BACKTRACE": "1", "OPENBLAS_NUM_THREADS": "1"}
# -P: a file named numpy.py in the folder where specchat was started must not be imported.
_COMMAND = (sys.executable, "-P", "-m", "specchat.worker")


class EngineProcess:
    """One child process at a time, started on demand and again after it died.

    Only one thread at a time may call `converse`; any thread may call `send` and `close` at any time.
    """

    def __init__(self, log_path: Path) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self._log_path = log_path
        self._log_offset = 0
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
        yield WorkerFailed(reason or describe_death(child.returncode, self._log_path, self._log_offset), died=True)

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
        with self._open_log() as log:
            return subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=_ENVIRONMENT | os.environ
            )

    def _open_log(self) -> IO[bytes]:
        """The log, or the null device if the log cannot be written, for example on a full disk."""
        try:
            self._log_path.parent.mkdir(parents=True, exist_ok=True)
            if self._log_path.exists() and self._log_path.stat().st_size > _LOG_LIMIT:
                os.truncate(self._log_path, 0)
            log = self._log_path.open("ab")
        except OSError:
            self._log_offset = sys.maxsize
            return Path(os.devnull).open("ab")
        self._log_offset = log.tell()
        return log


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Waits for a process to end, and kills it after a while."""
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def describe_death(returncode: int, log: Path, offset: int) -> str:
    """One line: how the process ended, and the most telling line of its log after `offset`."""
    reason = f"{ENDED} ({_ending(returncode)})"
    last_words = telling_line(_tail(log, offset))
    return f"{reason}; its log says: {last_words}" if last_words else reason


def telling_line(tail: str) -> str:
    """llama.cpp's failed assertion, else the last complaint, else the last line; empty for an empty log."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    for words in (_ASSERTIONS, _COMPLAINTS, ("",)):
        telling = [line for line in lines if any(word in line for word in words)]
        if telling:
            return _BUILD_FOLDER.sub("", telling[-1])[:300]
    return ""


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"
    return f"{name}: {_HINTS[name]}" if name in _HINTS else name


def _tail(log: Path, offset: int) -> str:
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(offset, size - _TAIL_BYTES))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
