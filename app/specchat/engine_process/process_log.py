"""The log of the engine's process, and one line about why the process ended."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import IO

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
