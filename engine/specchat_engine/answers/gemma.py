"""The notation of Gemma 4 for arguments, with keys as they are and marks around strings.

    <|tool_call>call:name{city:<|"|>Rome<|"|>,days:[1,2],where:{north:true}}<tool_call|>

Source: Google, "Gemma 4 prompt formatting", 2026.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from specchat_engine.answers.json_calls import JsonObject, escaped
from specchat_engine.answers.parameter_types import as_json
from specchat_engine.answers.parts import held_back
from specchat_engine.grammar.schema import referred, step_to
from specchat_engine.grammar.source import literal

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

RULES: Final = f"""
gemma_value: gemma_object | gemma_array | gemma_string | GEMMA_NUMBER | "true" | "false" | "null"
gemma_object: "{{" (gemma_member ("," gemma_member)*)? "}}"
gemma_member: GEMMA_KEY ":" gemma_value
gemma_array: "[" (gemma_value ("," gemma_value)*)? "]"
gemma_string: {literal(QUOTE)} gemma_text
gemma_text[lazy]: /(.|\\n)*/ {literal(QUOTE)}
GEMMA_INTEGER: /-?(0|[1-9][0-9]{{0,15}})/
GEMMA_NUMBER: /-?(0|[1-9][0-9]{{0,15}})(\\.[0-9]{{1,16}})?([eE][-+]?[0-9]{{1,2}})?/
GEMMA_KEY: /[a-zA-Z_][a-zA-Z0-9_-]{{0,63}}/
"""
"""The rules that every grammar with values in this notation needs."""

_OF_TYPES: Final = {
    "integer": "GEMMA_INTEGER",
    "number": "GEMMA_NUMBER",
    "boolean": '("true" | "false")',
    "null": '"null"',
}


class GemmaRules:
    """Makes rules of Lark for the values that a schema describes, one for each place in it.

    It knows types, properties, items, values, lengths, alternatives and references, and leaves out everything else.
    """

    def __init__(self, schema: Any, prefix: str) -> None:
        """`prefix` begins the names of the rules."""
        self._schema = schema
        self._prefix = prefix
        self._names: dict[str, str] = {}
        self.lines: list[str] = []

    def of(self, place: str) -> str:
        """Returns the name of the rule for a place such as "#" or "#/properties/name"."""
        if place not in self._names:
            self._names[place] = name = f"{self._prefix}{len(self._names)}"
            self.lines.append(f"{name}: {self._value(referred(place, self._schema), place)}")
        return self._names[place]

    def _value(self, part: Any, place: str) -> str:
        if not isinstance(part, dict):
            return "gemma_value"
        if isinstance(target := part.get("$ref"), str) and referred(target, self._schema) is not None:
            return self.of(target)
        for key in ("enum", "const"):
            if key in part:
                values = part[key] if key == "enum" else [part[key]]
                return " | ".join(literal(_value_text(value)) for value in values)
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(part.get(key), list) and (key != "allOf" or len(part[key]) == 1):
                return " | ".join(self.of(f"{place}/{key}/{index}") for index in range(len(part[key])))
        kinds = part.get("type", "object" if "properties" in part else None)
        named = kinds if isinstance(kinds, list) else [kinds]
        return " | ".join(self._typed(part, kind, place) for kind in named)

    def _typed(self, part: Mapping[str, Any], kind: Any, place: str) -> str:
        match kind:
            case "string":
                return self._string(part)
            case "array" if "items" in part and part.get("maxItems") != 0:
                item, least, most = self.of(f"{place}/items"), part.get("minItems", 0), part.get("maxItems")
                more = f'{item} ("," {item}){{{max(least - 1, 0)},{"" if most is None else most - 1}}}'
                return f'"[" {more if least else f"({more})?"} "]"'
            case "array":
                return "gemma_array" if part.get("maxItems") != 0 else '"[" "]"'
            case "object" if part.get("properties"):
                return self._object(part, place)
            case "object":
                return "gemma_object" if part.get("additionalProperties") is not False else '"{" "}"'
            case _:
                return _OF_TYPES.get(kind, "gemma_value")

    def _string(self, part: Mapping[str, Any]) -> str:
        """A string of a limited length has no `<`, so that its end is found."""
        least, most = part.get("minLength", 0), part.get("maxLength")
        if not least and most is None:
            return "gemma_string"
        return f"{literal(QUOTE)} /[^<]{{{least},{'' if most is None else most}}}/ {literal(QUOTE)}"

    def _object(self, part: Mapping[str, Any], place: str) -> str:
        """The listed properties in order, some of them required, with commas between those that are present."""
        first = later = '""'
        for name in reversed(part["properties"]):
            member = f'{literal(_key_text(name))} ":" {self.of(f"{place}/properties/{step_to(name)}")}'
            needed = name in part.get("required", ())
            as_first, as_later = f"{member} {later}", f'"," {member} {later}'
            first = self._rule(as_first if needed else f"{as_first} | {first}")
            later = self._rule(as_later if needed else f"{as_later} | {later}")
        return f'"{{" {first} "}}"'

    def _rule(self, body: str) -> str:
        name = f"{self._prefix}m{len(self.lines)}"
        self.lines.append(f"{name}: {body}")
        return name


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
