"""Calls that begin with a function's name: a head with the name, then an object with the arguments."""

from __future__ import annotations

import re
from typing import Final, Protocol

from specchat_engine.answers.json_calls import JsonObject
from specchat_engine.answers.parts import AnswerPart, CallState, PartKind

_LONGEST_HEAD: Final = 200


class ArgumentsReader(Protocol):
    """Follows an object in some notation from its opening brace on, and returns it as JSON.

    It is `complete` where the object ends or breaks. `text` is then what comes after it.
    """

    text: str
    complete: bool

    def take(self, text: str) -> str:
        """Follows more of the text and returns what is certain. Call it no more once it is complete."""

    def finish(self) -> str:
        """What is left once the text has ended."""


class NamedCall:
    """Follows the text after an opening mark: all of it before the first brace is the head.

    The call is returned once its head is there, and then its arguments as they come.
    """

    def __init__(self, head: re.Pattern[str], arguments: ArgumentsReader) -> None:
        """`head` has one group, which is the function's name."""
        self.text = ""
        self.state: CallState = "open"
        self._head = head
        self._arguments = arguments
        self._named = False

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        if self._named:
            return [self._taken(text)]
        self.text += text
        head, brace, rest = self.text.partition("{")
        match = self._head.fullmatch(head) if brace and len(head) <= _LONGEST_HEAD else None
        if match:
            self._named, self.text = True, ""
            return [AnswerPart(PartKind.CALL, match[1]), self._taken(brace + rest)]
        if brace or len(head) > _LONGEST_HEAD:
            self.state = "failed"
        return []

    def finish(self) -> list[AnswerPart]:
        """Ends the call where the text ends."""
        if not self._named:
            self.state = "failed"
            return []
        self.state = "complete"
        return [AnswerPart(PartKind.ARGUMENTS, self._arguments.finish())]

    def _taken(self, text: str) -> AnswerPart:
        arguments = self._arguments.take(text)
        if self._arguments.complete:
            self.state, self.text = "complete", self._arguments.text
        return AnswerPart(PartKind.ARGUMENTS, arguments)


class JsonArguments:
    """Follows an object in JSON."""

    def __init__(self) -> None:
        self.text = ""
        self.complete = False
        self._object = JsonObject()

    def take(self, text: str) -> str:
        """As much of the object as is there."""
        certain = ""
        for index, character in enumerate(text):
            self._object.take(character)
            self.complete = self._object.complete or self._object.broken
            if self._object.broken:
                self.text = text[index:]
                break
            certain += self._object.repaired(character)
            if self.complete:
                self.text = text[index + 1 :]
                break
        return certain

    def finish(self) -> str:
        """Nothing is left."""
        return ""
