"""The one shape that every part of the corpus is made in: a chat of question and answer turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

Kind = Literal["copy", "facts", "python", "structured", "story", "other"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of the user and the answer that the model is to give."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A whole conversation of one kind; `system` is the system prompt, where there is one."""

    kind: Kind
    turns: tuple[Turn, ...]
    system: str | None = None


ChatSource = Callable[[Random], Iterator[Chat]]
"""Given a random generator, yields chats without end, never relying on any other source of randomness."""


def single(kind: Kind, user: str, assistant: str) -> Chat:
    """A chat of one turn."""
    return Chat(kind, (Turn(user, assistant),))
