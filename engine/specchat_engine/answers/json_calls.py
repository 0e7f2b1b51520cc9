"""Calls as JSON objects with a function's name and its arguments, returned as soon as they are certain.

Other notations make JSON of their values with the same means: an object that is followed character by character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Final, Literal

from specchat_engine.answers.parts import AnswerPart, CallState, PartKind


def escaped(text: str) -> str:
    """A text as it stands inside a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


_SCALAR: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?|true|false|null", re.ASCII)
_CLOSING: Final = {"{": "}", "[": "]"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_SPACE: Final = frozenset(" \t\n\r")

_Expected = Literal["value", "item or end", "key", "key or end", "colon", "comma or end"]


class JsonObject:
    """Follows one JSON object. After each character these attributes describe it.

    `key` is the key of the object's member, its nested ones apart. `in_value` says whether the character belongs to the
    member's value. `complete` and `broken` say that the object ended, or that this is no JSON. Control characters in
    strings are let pass: models forget to escape them.
    """

    def __init__(self) -> None:
        self.key = ""
        self.in_value = self.complete = self.broken = False
        self._expected: _Expected = "value"
        self._open: list[str] = []
        self._string: Literal["", "key", "value"] = ""
        self._scalar = ""
        self._escaped = False
        self._hex_digits = 0
        self._key = ""

    def take(self, character: str) -> None:
        """Follows one more character. Call it no more once the object is complete or broken."""
        was_inside = self._is_inside
        if self._string:
            self._in_string(character)
        elif self._scalar and (character.isalnum() or character in "+-."):
            self._scalar += character
        else:
            if self._scalar:
                self._end_scalar()
                was_inside = self._is_inside
            if character not in _SPACE and not self.broken:
                self._between(character)
        self.in_value = was_inside or self._is_inside

    def repaired(self, character: str) -> str:
        """The character that was just taken, escaped if it has to be."""
        return json.dumps(character)[1:-1] if self._string and character < " " else character

    @property
    def _is_inside(self) -> bool:
        """Whether a value of the object itself has begun and not ended."""
        return len(self._open) > 1 or self._string == "value" or bool(self._scalar)

    def _in_string(self, character: str) -> None:
        if self._string == "key" and len(self._open) == 1:
            self._key += character
        if self._hex_digits:
            self._hex_digits -= 1
            self.broken = character not in _HEX
        elif self._escaped:
            self._escaped = False
            self._hex_digits = 4 if character == "u" else 0
            self.broken = character not in '"\\/bfnrtu'
        elif character == "\\":
            self._escaped = True
        elif character == '"':
            if self._string == "key" and len(self._open) == 1:
                self.key = str(json.loads(self._key, strict=False))
            self._expected = "colon" if self._string == "key" else "comma or end"
            self._string = ""

    def _end_scalar(self) -> None:
        self.broken = _SCALAR.fullmatch(self._scalar) is None
        self._scalar = ""
        self._expected = "comma or end"

    def _between(self, character: str) -> None:
        """A character outside of strings and scalars."""
        expected = self._expected
        if character == '"' and self._open and expected not in ("colon", "comma or end"):
            self._string = "key" if expected.startswith("key") else "value"
            self._key = character
        elif expected.endswith("end") and character == self._open[-1]:
            self._open.pop()
            self._expected = "comma or end"
            self.complete = not self._open
        elif expected == "comma or end" and character == ",":
            self._expected = "key" if self._open[-1] == "}" else "value"
        elif expected == "colon" and character == ":":
            self._expected = "value"
        elif expected in ("value", "item or end") and (character == "{" or (character == "[" and self._open)):
            self._open.append(_CLOSING[character])
            self._expected = "key or end" if character == "{" else "item or end"
        elif expected in ("value", "item or end") and self._open and character in "-0123456789tfn":
            self._scalar = character
        else:
            self.broken = True


_USUAL: Final = {"parameters": "arguments", "tool_name": "name", "tool_call_id": "id"}
_KEYS: Final = ("name", "id", "type", "arguments")


class JsonCall:
    """Follows an object `{"name": …, "arguments": {…}}`.

    Llama and Cohere call the arguments "parameters", and Cohere calls the name "tool_name". Models of Qwen2.5-Coder may
    write two braces on each side, as their template shows them.

    The call is returned once its name and the beginning of its arguments are there, then its arguments as they come.
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
        self._announced = self._failed = self._doubled = False
        self._closing = False
        """Whether the second brace at the end has to follow."""

    def take(self, text: str) -> list[AnswerPart]:
        """Follows more of the text; see `CallReader`."""
        parts: list[AnswerPart] = []
        for index, character in enumerate(text):
            if self._closing:
                self.state, self.text = "complete", text[index + (character == "}") :]
                break
            if self.text == character == "{":
                self._doubled, self.text = True, "{{"
                continue
            self._follow(character)
            if self._failed:
                self.state = "complete" if self._announced else "failed"
            elif self._object.complete and self._doubled:
                self._closing = True
            elif self._object.complete:
                self.state, self.text = "complete", ""
            parts += self._new_parts()
            if self.state != "open":
                self.text += text[index + 1 :]
                break
        return parts

    def finish(self) -> list[AnswerPart]:
        """Ends the call where the text ends."""
        self.state = "complete" if self._announced else "failed"
        self.text = "" if self._announced else self.text
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
        if value.complete and not self._announced:
            self._complete()
        self._failed |= value.broken

    def _begin_value(self, character: str) -> None:
        key = self._key
        usual = {"name": '"', "arguments": '{"'}.get(key, character)
        is_known = key in _KEYS or self._announced  # some models write what they expect of the call after its arguments
        self._failed |= not is_known or key in self._seen or character not in usual
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

    def _new_parts(self) -> list[AnswerPart]:
        """Returns what is certain and was not returned before."""
        if self._name is None or not self._arguments or self._failed:
            return []
        parts = [] if self._announced else [AnswerPart(PartKind.CALL, self._name)]
        parts.append(AnswerPart(PartKind.ARGUMENTS, self._arguments))
        self._announced, self._arguments, self.text = True, "", ""
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
