"""Calls as a list of Python's calls, `[name(key="value"), name()]`. Each is returned once it is complete.

Names and keys need not be Python's: a tool may be called `get-weather`, and a parameter `from`. Strings may have new
lines in them.
"""

from __future__ import annotations

import json
import re
from typing import Final

from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.parts import AnswerPart, CallReader, CallState, PartKind
from specchat_engine.answers.python_literals import LONGEST, literal_value, whole_characters

_NAME: Final = re.compile(r"\w[\w.:/-]{0,63}")


class PythonCalls:
    """Follows such a list, or one of JSON objects, which these models can be asked for too."""

    def __init__(self) -> None:
        self.text = ""
        self.state: CallState = "open"
        self._objects: CallReader | None = None
        self._announced = False
        self._depth = 0
        self._piece = ""
        """What came since the last bracket or comma of the list or of a call."""
        self._string = 0
        """Where the last string began in the piece."""
        self._quote = ""
        self._may_end = 0
        """Where its closing quote may begin."""
        self._escaped = False
        self._name = ""
        self._arguments: dict[str, object] = {}

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        if self._objects:
            return self._taken(self._objects, text)
        parts: list[AnswerPart] = []
        for index, character in enumerate(text):
            if character == "{" and self._depth == 1 and not (self._announced or self._piece.strip()):
                self._objects = JsonCalls()
                return self._taken(self._objects, "[" + text[index:])
            self.text += character
            try:
                parts += self._follow(character)
            except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                self.state = "complete" if self._announced else "failed"
            if self.state != "open":
                self.text += text[index + 1 :]
                break
        return parts

    def finish(self) -> list[AnswerPart]:
        """Ends the calls where the text ends."""
        if self._objects:
            return self._taken(self._objects, "", ended=True)
        self.state = "complete" if self._announced else "failed"
        return []

    def _taken(self, objects: CallReader, text: str, *, ended: bool = False) -> list[AnswerPart]:
        parts = objects.take(text)
        if ended and objects.state == "open":
            parts += objects.finish()
        self.text, self.state = objects.text, objects.state
        return parts

    def _follow(self, character: str) -> list[AnswerPart]:
        """Raises ValueError, and what Python's parser raises, where the text is not a call."""
        _require(len(self.text) <= LONGEST)
        if self._quote or character in "'\"":
            self._follow_string(character)
            return []
        opens, closes = character in "([{", character in ")]}"
        depth, self._depth = self._depth, self._depth + opens - closes
        if depth == 0:
            _require(character == "[" or character.isspace())
        elif depth == 1 and (opens or closes or character == ","):
            self._begin_or_end(character)
        elif depth == 2 and (closes or character == ","):
            return self._end_argument(character)
        else:
            self._piece += character
        return []

    def _follow_string(self, character: str) -> None:
        if not self._quote:
            is_third = self._piece[self._string :] == 2 * character
            self._string = self._string if is_third else len(self._piece)
            self._quote = 3 * character if is_third else character
            self._piece += character
            self._may_end = len(self._piece)
            return
        in_line = character == "\n" and len(self._quote) == 1
        self._piece += "\\n" if in_line else character
        if self._escaped or character == "\\":
            self._escaped = not self._escaped
            self._may_end = len(self._piece)
        elif self._piece.endswith(self._quote, self._may_end):
            self._quote = ""

    def _begin_or_end(self, character: str) -> None:
        """Begins a call, or ends the list."""
        name, self._piece = self._piece.strip(), ""
        if character == "(":
            _require(_NAME.fullmatch(name) is not None)
            self._name, self._arguments = name, {}
            return
        _require(self._announced and not name and character in ",]")
        if character == "]":
            self.state, self.text = "complete", ""

    def _end_argument(self, character: str) -> list[AnswerPart]:
        """Notes an argument, and returns the call if it ends there."""
        piece, self._piece, self._string = self._piece.strip(), "", 0
        if piece or character == ",":
            key, _, value = (part.strip() for part in piece.partition("="))
            _require(bool(value) and _NAME.fullmatch(key) is not None)
            self._arguments[key] = literal_value(value)
        if character == ",":
            return []
        _require(character == ")")
        arguments = json.dumps(self._arguments, ensure_ascii=False, allow_nan=False)
        self._announced, self.text = True, ""
        return [AnswerPart(PartKind.CALL, self._name), AnswerPart(PartKind.ARGUMENTS, whole_characters(arguments))]


def _require(fits: bool) -> None:
    if not fits:
        raise ValueError("the text is not a call")
