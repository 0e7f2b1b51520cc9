"""A JSON object, followed character by character, so that its values can go out before it is complete."""

from __future__ import annotations

import json
import re
from typing import Final, Literal

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
