"""The engine's process as the application sees it: started, written to, ended, and its end explained."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Final

from specchat.engine_process.protocol import Command, Quit, TaskFailed
from specchat.pipes import command_of, encode

CLOSED: Final = "the engine was closed"

ENDED = "the engine's process ended"
"""The beginning of the line that says why the process ended."""

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

# Otherwise a failed assertion starts a debugger, if there is one, and its output buries the reason; and numpy starts
# threads for matrix products, which are not used here and spin while they wait.
_ENVIRONMENT = {"GGML_NO_BACKTRACE": "1", "OPENBLAS_NUM_THREADS": "1"}


class EngineProcess:
    """A child process that runs the engine, from its start to its end.

    `events` is read by one reader, which calls `death` after its end. Any thread may call everything else.
    """

    def __init__(self, log_path: Path, patience_s: float) -> None:
        """Starts it. It is killed if it takes longer than `patience_s` to end. Raises OSError if it cannot start."""
        self._log = ProcessLog(log_path)
        self._patience_s = patience_s
        self._writing = Lock()
        self.ending = False
        pipe, environment = subprocess.PIPE, _ENVIRONMENT | os.environ
        with self._log.open() as log:
            self.child = subprocess.Popen(
                command_of("specchat.engine_process"), stdin=pipe, stdout=pipe, stderr=log, env=environment
            )

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return self.child.poll() is None

    @property
    def events(self) -> IO[bytes]:
        """Its events, one a line."""
        assert self.child.stdout is not None
        return self.child.stdout

    def write(self, command: Command, number: int = 0) -> None:
        """Writes a command. If the process is gone, the reader of the events learns the reason.

        Raises RecursionError for a command that is nested too deeply.
        """
        assert self.child.stdin is not None
        line = encode(command, number)
        with self._writing, suppress(OSError, ValueError):  # ValueError: the pipe is closed
            self.child.stdin.write(line)
            self.child.stdin.flush()

    def end(self) -> None:
        """Ends the process, by force if necessary."""
        self.ending = True
        if self._writing.acquire(timeout=self._patience_s):  # a process that reads nothing holds up whoever writes
            self._writing.release()
            self.write(Quit())
        self._wait()

    def death(self) -> TaskFailed:
        """Waits for a process that closed its pipe or was ended, closes the pipes to it, and says why it ended."""
        self._wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return TaskFailed(CLOSED if self.ending else self._log.describe_death(self.child.returncode), died=True)

    def _wait(self) -> None:
        """Waits for the process, and kills it after a while."""
        try:
            self.child.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class ProcessLog:
    """A file that one process after the other writes to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def open(self) -> IO[bytes]:
        """The log for another process, or the null device if it cannot be written, for example on a full disk."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists() and self._path.stat().st_size > _LOG_LIMIT:
                os.truncate(self._path, 0)
            log = self._path.open("ab")
        except OSError:
            self._offset = sys.maxsize
            return Path(os.devnull).open("ab")
        self._offset = log.tell()
        return log

    def describe_death(self, returncode: int) -> str:
        """One line about the end of the process that the log was last opened for."""
        return describe_death(returncode, self._path, self._offset)


def describe_death(returncode: int, log: Path, offset: int) -> str:
    """One line: how the process ended, and the most relevant line of its log after `offset`."""
    reason = f"{ENDED} ({_ending(returncode)})"
    last_words = relevant_line(_tail(log, offset))
    return f"{reason}; its log says: {last_words}" if last_words else reason


def relevant_line(tail: str) -> str:
    """llama.cpp's failed assertion, else the last complaint, else the last line; empty for an empty log."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    for words in (_ASSERTIONS, _COMPLAINTS, ("",)):
        matches = [line for line in lines if any(word in line for word in words)]
        if matches:
            return _BUILD_FOLDER.sub("", matches[-1])[:300]
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
