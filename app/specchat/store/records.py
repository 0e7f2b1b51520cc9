"""What is stored, as the rest of the application sees it: sessions, and the messages that make a tree of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import SystemRandom
from typing import Any


class State(StrEnum):
    """How far a message got."""

    WHOLE = "whole"
    STREAMING = "streaming"
    STOPPED = "stopped"
    """The user stopped the answer."""
    CUT = "cut"
    """The application that wrote the answer ended in the middle of it."""


def new_id() -> int:
    """An id for a session or a message: 63 random bits, so that nobody has to ask the database for one."""
    return SystemRandom().getrandbits(63)


def new_seed() -> int:
    """A seed for a session that was given none: 31 random bits."""
    return SystemRandom().getrandbits(31)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A conversation, without its messages. Times are seconds since the epoch.

    `head` is the message at the end of the branch that is shown. `num_messages` counts all branches, and `preview` is
    the beginning of the newest message that is not empty, on one line: both are the store's own, whatever is written.
    """

    id: int
    title: str = ""
    created: float = field(default_factory=time.time)
    updated: float = 0.0
    system: str | None = None
    seed: int | None = None
    target: str | None = None
    draft: str | None = None
    settings: Mapping[str, Any] | None = None
    head: int | None = None
    num_messages: int = 0
    preview: str = ""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A node of a session's tree. `parent` None is a first message; messages with the same parent are branches.

    `turn` and `attempt` are what an answer's seed was made of. `figures` is the line of figures under an answer.
    """

    id: int
    session: int
    parent: int | None
    role: str
    content: str
    created: float = field(default_factory=time.time)
    state: State = State.WHOLE
    turn: int | None = None
    attempt: int = 0
    figures: str | None = None
