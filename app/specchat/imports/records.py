"""A conversation as the readers of exports return it, one branch with the roles in turn; and what they read it from.

Values of an export are whatever is in their place: a field of another type counts as missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

ROLES = ("user", "assistant")

MOST_SECONDS = 600.0
"""The most seconds in which an export is read."""

_LATEST = 32_503_680_000.0
"""The year 3000, in seconds since the epoch."""

_FINER = (1e11, 1e14, 1e17)
"""From these on, a number counts milliseconds, microseconds and nanoseconds."""


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message with its time in seconds since the epoch, if the export has it. `role` is one of ROLES."""

    role: str
    content: str
    created: float | None = None


@dataclass(frozen=True, slots=True)
class ImportedChat:
    """A conversation of another program. `source` names the program, and `key` the conversation there.

    `tags` are those that it has there, as written there.
    """

    source: str
    key: str
    title: str
    messages: tuple[ImportedMessage, ...]
    created: float | None = None
    updated: float | None = None
    system: str | None = None
    tags: tuple[str, ...] = ()


def in_turn(messages: Iterable[ImportedMessage]) -> tuple[ImportedMessage, ...]:
    """The messages that have text, with neighbours of the same role joined: chat templates expect the roles in turn."""
    spoken = (message for message in messages if message.content.strip() and message.role in ROLES)
    turns = ([*turn] for _, turn in groupby(spoken, key=lambda message: message.role))
    return tuple(replace(turn[0], content="\n\n".join(message.content for message in turn)) for turn in turns)


def text(value: object) -> str:
    """Returns a text; empty for anything else."""
    return value if isinstance(value, str) else ""


def fields(value: object) -> Mapping[str, Any]:
    """Returns the fields of an object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> Sequence[Any]:
    """Returns the items of a list; empty for anything else."""
    return value if isinstance(value, list) else ()


def moment(value: object) -> float | None:
    """A time in seconds since the epoch; None for other numbers. Milliseconds are recognized by their size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        return None
    scale = 1000 ** sum(value >= limit for limit in _FINER)
    seconds = value / scale if value < 1e30 else math.inf
    return float(seconds) if seconds < _LATEST else None


def parts(value: object) -> str:
    """The text of a message's content: a text, or a list whose texts and objects with a `text` are joined."""
    if isinstance(value, str):
        return value
    texts = (part if isinstance(part, str) else text(fields(part).get("text")) for part in items(value))
    return "\n".join(part for part in texts if part)


def branch(nodes: Mapping[str, Any], last: object, parent: str) -> list[Mapping[str, Any]]:
    """The nodes from the first one to `last`. `parent` is the field with the id of a node's parent. A loop ends it."""
    path: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    here = last
    while isinstance(here, str) and here in nodes and here not in seen:
        seen.add(here)
        node = fields(nodes[here])
        path.append(node)
        here = node.get(parent)
    return path[::-1]
