"""The pipe of an engine's process to the application: only events go into it, and everything else to its log."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import BinaryIO, cast


def events_pipe() -> BinaryIO:
    """Standard output, unbuffered, for events alone. From now on everything else that is printed goes to the log.

    Ctrl+C is left to the application, which decides what it ends, and says so through the other pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # llama.cpp and its backends print to descriptor 1 now and then.
    pipe = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return cast(BinaryIO, pipe)


def write_all(pipe: BinaryIO, line: bytes) -> None:
    """Writes the whole line to an unbuffered pipe, which may take a part of it at a time.

    Raises BrokenPipeError if nobody reads it any more.
    """
    while line:
        line = line[pipe.write(line) :]


def unexpected(error: Exception) -> str:
    """One line about an error that nobody foresaw. Its traceback goes to the log."""
    traceback.print_exception(error, file=sys.stderr)
    return " ".join(f"an unexpected {type(error).__name__}: {error}; the engine's log has more".splitlines())
