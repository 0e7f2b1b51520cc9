"""Calls as a list of Python's calls, `[name(key="value"), name()]`. They are told once the list is complete."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Final

from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.parts import AnswerPart, CallReader, CallState, PartKind

_LONGEST: Final = 100_000
_NAMES: Final = {"true": True, "false": False, "null": None}


class PythonCalls:
    """Follows such a list, or one of JSON objects, which these models can be asked for too."""

    def __init__(self) -> None:
        self.text = ""
        self.state: CallState = "open"
        self._brackets = 0
        self._quote = ""
        self._escaped = False
        self._objects: CallReader | None = None

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        if self._objects:
            return self._taken(self._objects, text)
        for place, character in enumerate(text):
            self.text += character
            if self.text.lstrip("[ \n")[:1] == "{":
                self._objects = JsonCalls()
                return self._taken(self._objects, self.text + text[place + 1 :])
            self._follow(character)
            if self._brackets == 0 and not self.text.isspace():
                return self._complete(text[place + 1 :])
        if len(self.text) > _LONGEST:
            self.state = "failed"
        return []

    def finish(self) -> list[AnswerPart]:
        """Ends the calls where the text ends."""
        if self._objects:
            return self._taken(self._objects, "", ended=True)
        self.state = "failed"
        return []

    def _taken(self, objects: CallReader, text: str, *, ended: bool = False) -> list[AnswerPart]:
        parts = objects.take(text)
        if ended and objects.state == "open":
            parts += objects.finish()
        self.text, self.state = objects.text, objects.state
        return parts

    def _follow(self, character: str) -> None:
        """Counts the brackets that are open outside of strings."""
        if self._escaped:
            self._escaped = False
        elif self._quote:
            self._escaped = character == "\\"
            self._quote = "" if character == self._quote else self._quote
        elif character in "'\"":
            self._quote = character
        else:
            self._brackets += (character in "([{") - (character in ")]}")

    def _complete(self, rest: str) -> list[AnswerPart]:
        try:
            parts = [part for name, arguments in _calls(self.text.strip()) for part in _told(name, arguments)]
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            parts = []
        self.state, self.text = ("complete", rest) if parts else ("failed", self.text + rest)
        return parts


def _calls(text: str) -> Iterator[tuple[str, str]]:
    """The names and arguments of the calls. Raises what Python's parser raises, and ValueError for anything else."""
    listed = ast.parse(text, mode="eval").body
    for call in listed.elts if isinstance(listed, ast.List) else ():
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("an element is no call with keywords alone")
        values = {_key(keyword): _value(keyword.value) for keyword in call.keywords}
        yield ast.unparse(call.func), json.dumps(values, ensure_ascii=False, allow_nan=False)


def _key(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise ValueError("arguments are in a mapping")
    return keyword.arg


def _value(node: ast.expr) -> object:
    """A literal, with JSON's names for some."""
    match node:
        case ast.Name(name) if name in _NAMES:
            return _NAMES[name]
        case ast.List(elements) | ast.Tuple(elements):
            return [_value(one) for one in elements]
        case ast.Dict(keys, values):
            return {str(_value(key)): _value(one) for key, one in zip(keys, values, strict=True) if key is not None}
    return ast.literal_eval(node)


def _told(name: str, arguments: str) -> list[AnswerPart]:
    return [AnswerPart(PartKind.CALL, name), AnswerPart(PartKind.ARGUMENTS, arguments)]
