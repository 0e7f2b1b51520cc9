"""Why the engine's process ended, in words."""

from __future__ import annotations

import re
import signal
from pathlib import Path

ENDED = "the engine's process ended"
"""How the line begins."""

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


def describe_death(returncode: int, log: Path, offset: int) -> str:
    """One line: how the process ended, and the most telling line that it wrote to its log behind `offset`."""
    reason = f"{ENDED} ({_ending(returncode)})"
    last_words = telling_line(_tail(log, offset))
    return f"{reason}; its log says: {last_words}" if last_words else reason


def telling_line(tail: str) -> str:
    """llama.cpp's failed assertion, else the last complaint, else the last line; empty where nothing was written."""
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
