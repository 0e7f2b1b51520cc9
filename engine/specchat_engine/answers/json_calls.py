"""Calls as JSON objects with a function's name and its arguments, told as soon as they are certain."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Final

from specchat_engine.answers.json_object import JsonObject
from specchat_engine.answers.parts import AnswerPart, CallState, PartKind

_USUAL: Final = {"parameters": "arguments", "tool_name": "name", "tool_call_id": "id"}
_KEYS: Final = ("name", "id", "type", "arguments")


class JsonCall:
    """Follows an object `{"name": …, "arguments": {…}}`.

    Llama and Cohere call the arguments "parameters", and Cohere calls the name "tool_name".

    It is told once its name and the beginning of its arguments are there, and then its arguments as they come.
    """

    def __init__(self, names: Collection[str] | None = None) -> None:
        """`names` are given if no tag came before the object: it is a call only of one of these, with arguments."""
        self.text = ""
        self.state: CallState = "open"
        self._names = names
        self._object = JsonObject()
        self._seen: set[str] = set()
        self._name: str | None = None
        self._value = ""
        self._arguments = ""
        self._told = self._failed = False

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        parts: list[AnswerPart] = []
        for place, character in enumerate(text):
            self._follow(character)
            if self._failed:
                self.state = "complete" if self._told else "failed"
            elif self._object.complete:
                self.state, self.text = "complete", ""
            parts += self._tell()
            if self.state != "open":
                self.text += text[place + 1 :]
                break
        return parts

    def finish(self) -> list[AnswerPart]:
        """Ends the call where the text ends."""
        self.state = "complete" if self._told else "failed"
        self.text = "" if self._told else self.text
        return []

    @property
    def _key(self) -> str:
        """The key of the value, by its usual name."""
        return _USUAL.get(self._object.key, self._object.key)

    def _follow(self, character: str) -> None:
        value = self._object
        was_in_value = value.in_value
        value.take(character)
        self.text += character
        if value.in_value:
            if not was_in_value:
                self._begin_value(character)
            self._value += character
            if self._value[0] == "{" and self._key == "arguments":
                self._arguments += value.repaired(character)
        elif was_in_value:
            self._end_value()
        if value.complete and not self._told:
            self._complete()
        self._failed |= value.broken

    def _begin_value(self, character: str) -> None:
        key = self._key
        usual = {"name": '"', "arguments": '{"'}.get(key, character)
        self._failed |= key not in _KEYS or key in self._seen or character not in usual
        self._seen.add(key)
        self._value = ""

    def _end_value(self) -> None:
        if self._key == "name":
            self._name = str(json.loads(self._value, strict=False))
            self._failed |= not self._name or (self._names is not None and self._name not in self._names)
        elif self._key == "arguments" and self._value[0] == '"':
            self._arguments = str(json.loads(self._value, strict=False))
            self._failed |= not _is_object(self._arguments)

    def _complete(self) -> None:
        """Gives a call without arguments empty ones, if a tag came before it."""
        if "arguments" not in self._seen and self._names is None:
            self._arguments = "{}"
        self._failed |= not (self._name and self._arguments)

    def _tell(self) -> list[AnswerPart]:
        """What is certain and was not told."""
        if self._name is None or not self._arguments or self._failed:
            return []
        parts = [] if self._told else [AnswerPart(PartKind.CALL, self._name)]
        parts.append(AnswerPart(PartKind.ARGUMENTS, self._arguments))
        self._told, self._arguments, self.text = True, "", ""
        return parts


class JsonCalls:
    """Follows one such object, or a list of them."""

    def __init__(self, names: Collection[str] | None = None) -> None:
        """`names` as for one call."""
        self.text = ""
        self.state: CallState = "open"
        self._names = names
        self._call: JsonCall | None = None
        self._in_list = False
        self._count = 0

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        self.text += text
        parts: list[AnswerPart] = []
        while self.state == "open" and (self.text if self._call else self.text.lstrip()):
            if self._call:
                parts += self._call.take(self.text)
                self._end_call()
            else:
                self._between()
        return parts

    def finish(self) -> list[AnswerPart]:
        """Ends the calls where the text ends."""
        if self._call:
            self._call.finish()
            self._end_call()
        self.state = "complete" if self._count else "failed"
        return []

    def _end_call(self) -> None:
        """Goes on after a call that has ended."""
        call = self._call
        if call is None or call.state == "open":
            self.text = ""
            return
        self.text, self._call = call.text, None
        if call.state == "complete":
            self._count += 1
        if not self._in_list or call.state == "failed":
            self.state = "complete" if self._count else "failed"

    def _between(self) -> None:
        text = self.text.lstrip()
        if text[0] == "{" and (self._in_list or not self._count):
            self._call, self.text = JsonCall(self._names), text
        elif text[0] == "[" and not self._in_list:
            self._in_list, self.text = True, text[1:]
        elif text[0] == "," and self._count:
            self.text = text[1:]
        elif self._count:
            self.state, self.text = "complete", text.removeprefix("]")
        else:
            self.state = "failed"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
