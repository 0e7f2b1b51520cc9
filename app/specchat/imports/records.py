"""A conversation as the readers of exports return it: one branch, messages of the user and of the assistant in turn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

ROLES = ("user", "assistant")

MOST_SECONDS = 600.0
"""The most seconds in which an export is read."""


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
    said = (message for message in messages if message.content.strip() and message.role in ROLES)
    turns = ([*turn] for _, turn in groupby(said, key=lambda message: message.role))
    return tuple(replace(turn[0], content="\n\n".join(message.content for message in turn)) for turn in turns)
