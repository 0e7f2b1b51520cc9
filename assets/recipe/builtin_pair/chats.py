"""The data structures for every part of the corpus: chats of question and answer turns, and held-out exercises."""

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


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A prompt that no template of the corpus makes, and the expected answer.

    It is the only right answer for copies, and an example for stories.
    """

    kind: Kind
    prompt: str
    expected: str


ChatSource = Callable[[Random], Iterator[Chat]]
"""Yields chats endlessly. The given random generator is the only source of randomness."""


def single(kind: Kind, user: str, assistant: str) -> Chat:
    """A chat of one turn."""
    return Chat(kind, (Turn(user, assistant),))
