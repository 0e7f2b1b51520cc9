"""The notation of Gemma 4 for arguments, with keys as they are and marks around strings.

    <|tool_call>call:name{city:<|"|>Rome<|"|>,days:[1,2],where:{north:true}}<tool_call|>

Source: Google, "Gemma 4 prompt formatting", 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from specchat_engine.answers.json_calls import JsonObject, escaped
from specchat_engine.answers.parameter_types import as_json
from specchat_engine.answers.parts import held_back
from specchat_engine.grammar.json_schema import Writing, literal
from specchat_engine.grammar.until import until

QUOTE: Final = '<|"|>'
"""The control token around strings."""

_BARE: Final = re.compile(r"[^{}\[\],:<]+")
_SPACED: Final = {",": ", ", ":": ": "}


class GemmaArguments:
    """Follows an object in this notation, and returns it as JSON; see `ArgumentsReader`.

    A word that is no JSON value is a key before a colon, and else a string that has lost its marks.
    """

    def __init__(self) -> None:
        self.text = ""
        self.complete = False
        self._object = JsonObject()
        self._in_string = False

    def take(self, text: str) -> str:
        """As much of the object as is certain."""
        self.text += text
        certain = ""
        while not self.complete and (piece := self._piece()) is not None:
            read, json_text, in_string = piece
            for character in json_text:
                self._object.take(character)
            self.complete = self._object.complete or self._object.broken
            if self._object.broken:
                break
            self.text, self._in_string = self.text[read:], in_string
            certain += json_text
        return certain

    def finish(self) -> str:
        """The rest of a text that was cut off."""
        rest, self.text, self.complete = self.text, "", True
        return escaped(rest) if self._in_string else rest

    def _piece(self) -> tuple[int, str, bool] | None:
        """The next piece: its length, what it is in JSON, and whether a string is open after it.

        None if more text is needed.
        """
        if self._in_string:
            return self._of_string()
        text = self.text.lstrip()
        before = len(self.text) - len(text)
        if text.startswith(QUOTE):
            return before + len(QUOTE), '"', True
        if QUOTE.startswith(text):
            return None
        word = _BARE.match(text)
        if word is None:
            return before + 1, _SPACED.get(text[0], text[0]), False
        if word.end() == len(text):
            return None
        is_key = text[word.end()] == ":"
        bare = word[0].rstrip()
        return before + word.end(), json.dumps(bare, ensure_ascii=False) if is_key else as_json(bare), False

    def _of_string(self) -> tuple[int, str, bool] | None:
        """More of a string that has begun."""
        value, quote, _ = self.text.partition(QUOTE)
        if quote:
            return len(value) + len(QUOTE), f'{escaped(value)}"', False
        certain = value[: len(value) - held_back(value, (QUOTE,))]
        return (len(certain), escaped(certain), True) if certain else None


_PLAIN_KEY: Final = re.compile(r"[^\s{}\[\],:<\"]+")


def _key_text(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _value_text(name)


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return f"{QUOTE}{value}{QUOTE}"
    if isinstance(value, dict):
        return f"{{{','.join(f'{_key_text(key)}:{_value_text(member)}' for key, member in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_value_text, value))}]"
    return json.dumps(value)


def _rules(lines: Sequence[str]) -> dict[str, str]:
    return {name: rule for name, _, rule in (line.partition(" ::= ") for line in lines)}


WRITING: Final = Writing(
    _value_text,
    _key_text,
    {
        "space": '""',
        "quote": literal(QUOTE),
        "char": "[^<]",
        "string": "quote quoted",
        **_rules(until(QUOTE, "quoted")),
        "key": "[a-zA-Z_] [a-zA-Z0-9_-]{0,63}",
    },
)
"""Strings of a limited length have no `<`: a rule cannot count their characters and look for the mark at once."""
