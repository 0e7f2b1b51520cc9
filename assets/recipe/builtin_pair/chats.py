"""The data structure for every part of the corpus: a chat of question and answer turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

Kind = Literal["copy", "facts", "python", "structured", "story", "other"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of the user and the answer that the model should give."""

    user: str
    assistant: str


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation of one kind. `system` is the system prompt, if there is one."""

    kind: Kind
    turns: tuple[Turn, ...]
    system: str | None = None


ChatSource = Callable[[Random], Iterator[Chat]]
"""Yields chats endlessly. The given random generator is the only source of randomness."""


def single(kind: Kind, user: str, assistant: str) -> Chat:
    """A chat of one turn."""
    return Chat(kind, (Turn(user, assistant),))
