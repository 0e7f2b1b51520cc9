"""Pipes between a process and the one that started it: its command, and messages, each one line of JSON.

A message is a frozen dataclass, and its line has the name of its class and its fields, and perhaps a number. The reader
is tolerant, so that an older and a newer side understand each other: an unknown message is None, an unknown field is
ignored, and a missing one has its default.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO, Generic, TypeVar, cast

from specchat_engine.codec import from_json, to_json

Message = TypeVar("Message")


def command_of(module: str) -> tuple[str, ...]:
    """The command that runs a module as a process."""
    # -P: a file named numpy.py in the folder where specchat was started must not be imported.
    return sys.executable, "-P", "-m", module


def events_pipe() -> BinaryIO:
    """Standard output, unbuffered, for events alone. From now on everything else that is printed goes to the log.

    Ctrl+C is left to the application, which decides what it ends, and says so through the other pipe.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # llama.cpp and its backends occasionally print to descriptor 1.
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


def encode(message: object, number: int = 0) -> bytes:
    """Writes a message as one line of ASCII, with its line end. The number 0 is left out."""
    numbered = {"number": number} if number else {}
    return json.dumps({"type": type(message).__name__, **numbered, **to_json(message)}).encode() + b"\n"


class Decoder(Generic[Message]):
    """Reads messages of these classes."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}

    def decode(self, line: bytes) -> Message | None:
        """Reads the message in a line; None if this side does not know it."""
        return self.numbered(line)[1]

    def numbered(self, line: bytes) -> tuple[int, Message | None]:
        """Reads the number of a line, 0 if it has none, and its message as `decode` does."""
        number = 0
        message: Message | None = None
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            value = json.loads(line)
            kind = self._kinds.get(value["type"])
            number = given if type(given := value.get("number")) is int else 0
            message = from_json(kind, value) if kind else None
        return number, message
