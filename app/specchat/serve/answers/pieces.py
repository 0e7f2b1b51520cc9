"""What an answer consists of: text for the user, reasoning before it, and calls of tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Content:
    """More text for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """More of what the model thinks before it answers."""

    text: str


@dataclass(frozen=True, slots=True)
class CallBegun:
    """The model calls a tool; `index` counts the calls of an answer from 0."""

    index: int
    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """More of a call's arguments, which are JSON once they are complete."""

    index: int
    text: str


Piece = Content | Reasoning | CallBegun | CallArguments


class Parser(Protocol):
    """Tells the pieces of one answer apart while it is written."""

    def feed(self, text: str) -> Sequence[Piece]:
        """The pieces that are certain after this text."""
        ...

    def finish(self) -> Sequence[Piece]:
        """What is left of an answer that is complete."""
        ...


class PlainParser:
    """Takes everything for text for the user."""

    def feed(self, text: str) -> Sequence[Piece]:
        """The text."""
        return (Content(text),) if text else ()

    def finish(self) -> Sequence[Piece]:
        """Nothing is left."""
        return ()
