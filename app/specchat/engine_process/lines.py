"""Messages between a process and the one that started it: each is one line of JSON.

A message is a frozen dataclass, and its line has the name of its class and its fields, and perhaps a number. The reader
is tolerant, so that an older and a newer side understand each other: an unknown message is None, an unknown field is
ignored, and a missing one has its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from specchat_engine.codec import from_json, to_json

Message = TypeVar("Message")


def encode(message: object, number: int = 0) -> bytes:
    """The message as one line of ASCII, with its line end. 0 is no number."""
    numbered = {"number": number} if number else {}
    return json.dumps({"type": type(message).__name__, **numbered, **to_json(message)}).encode() + b"\n"


class Decoder(Generic[Message]):
    """Reads messages of these classes."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}

    def decode(self, line: bytes) -> Message | None:
        """The message in a line, None if there is none that this side knows."""
        return self.numbered(line)[1]

    def numbered(self, line: bytes) -> tuple[int, Message | None]:
        """The same after the number of the line, which is 0 if it has none."""
        number = 0
        message: Message | None = None
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            value = json.loads(line)
            kind = self._kinds.get(value["type"])
            number = given if type(given := value.get("number")) is int else 0
            message = from_json(kind, value) if kind else None
        return number, message
