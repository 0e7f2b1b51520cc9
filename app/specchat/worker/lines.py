"""Messages between an engine's process and the one that started it: each is one line of JSON.

A message is a frozen dataclass, and its line has the name of its class and its fields. The reader is tolerant, so that
an older and a newer side understand each other: an unknown message is None, an unknown field is ignored, and a missing
one has its default.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from specchat_engine.codec import from_json, to_json

Message = TypeVar("Message")


def encode(message: object) -> bytes:
    """The message as one line of ASCII, with its line end."""
    return json.dumps({"type": type(message).__name__, **to_json(message)}).encode() + b"\n"


class Decoder(Generic[Message]):
    """Reads messages of these classes."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._kinds = {kind.__name__: kind for kind in kinds}

    def decode(self, line: bytes) -> Message | None:
        """The message in a line, None if there is none that this side knows."""
        try:
            value = json.loads(line)
            message: Message = from_json(self._kinds[value["type"]], value)
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        return message
