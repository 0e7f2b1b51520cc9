"""The parts of an answer, in the order in which a model writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal, Protocol


class PartKind(StrEnum):
    """What a part of an answer is."""

    REASONING = "reasoning"
    CONTENT = "content"
    CALL = "call"
    ARGUMENTS = "arguments"


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A piece of an answer. A part of the kind CALL begins a call and has the function's name; the parts of the kind
    ARGUMENTS that follow it make up the text of a JSON object."""

    kind: PartKind
    text: str


class Parser(Protocol):
    """Takes a text in pieces. What it returns does not depend on where the text is cut."""

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended. If it was cut off, a mark that has only begun is left out."""


CallState = Literal["open", "complete", "failed"]


class CallReader(Protocol):
    """Follows the text of a call, or of several.

    It is "failed" if it turns out not to be a call before anything was returned, and "complete" where the call ends.
    If it breaks later, what was returned stands, and the call ends there. `text` is then what comes after it.
    """

    text: str
    state: CallState

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text and returns what is certain. Call it no more once the state is not "open"."""

    def finish(self) -> list[AnswerPart]:
        """The same once the text has ended; the state is then not "open"."""


def merged(parts: Iterable[AnswerPart]) -> list[AnswerPart]:
    """The same parts without empty ones; neighbours of a kind become one. Calls never do."""
    result: list[AnswerPart] = []
    for part in parts:
        if result and result[-1].kind is part.kind is not PartKind.CALL:
            result[-1] = AnswerPart(part.kind, result[-1].text + part.text)
        elif part.text:
            result.append(part)
    return result


SHORTEST_BEGUN: Final = 4
"""Characters of a mark that has begun, at least: fewer may well be other text."""


def without_begun(text: str, marks: Iterable[str]) -> str:
    """The text without a mark at its end that has only begun."""
    begun = held_back(text, marks)
    return text[: len(text) - begun].rstrip() if begun >= SHORTEST_BEGUN else text


def held_back(text: str, marks: Iterable[str]) -> int:
    """How many characters at the end of a text may be the beginning of one of these marks."""
    longest = 0
    for mark in marks:
        for length in range(min(len(mark) - 1, len(text)), longest, -1):
            if text.endswith(mark[:length]):
                longest = length
                break
    return longest
