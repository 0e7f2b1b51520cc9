"""Turns a JSON schema into a grammar: every answer that the grammar allows is JSON that the schema accepts.

The grammar is narrower than the schema on purpose, so that a model cannot get lost: properties come in the schema's
order, an object has no unlisted properties, and there is little space between two tokens. A schema that asks for
something a grammar cannot express is an error, never ignored. So is `oneOf`, unless its parts exclude each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from specchat_engine.errors import SettingError

SHARED_RULES: Final = {
    "space": r'(" " | "\n" [ \t]{0,20})?',
    "char": r'[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] hex | [dD] [0-7]) hex hex)',
    "hex": "[0-9a-fA-F]",
    "whole": '"0" | [1-9] [0-9]{0,15}',
    "quote": r'"\""',
    "string": "quote char* quote",
    "key": "string",
    "integer": '"-"? whole',
    "number": '"-"? whole ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?',
    "boolean": '"true" | "false"',
    "null": '"null"',
    "value": "object | array | string | number | boolean | null",
    "member": 'key ":" space value',
    "object": '"{" space (member ("," space member)* space)? "}"',
    "array": '"[" space (value ("," space value)* space)? "]"',
    "date": "quote day quote",
    "time": "quote hour quote",
    "date-time": 'quote day "T" hour quote',
    "uuid": 'quote hex{8} "-" hex{4} "-" hex{4} "-" hex{4} "-" hex{12} quote',
    "day": '[0-9]{4} "-" ("0" [1-9] | "1" [0-2]) "-" ("0" [1-9] | "1" [0-9] | "2" [0-8])',
    "hour": '("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9] ":" [0-5] [0-9] ("." [0-9]{1,6})? '
    '("Z" | [-+] ("0" [0-9] | "1" [0-9] | "2" [0-3]) ":" [0-5] [0-9])',
}
"""GBNF rules that the grammars of all schemas share. No month has more than 28 days, so every day exists. A character
beyond the basic plane would need two escapes and is never escaped, so each escape counts once for a string's length."""


_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}
_DISTINCT = _TYPES.keys() - {"integer"}
FORMATS: Final = ("date", "time", "date-time", "uuid")
_NOTES = {"$schema", "$id", "$comment", "$defs", "definitions", "title", "description"} | {
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
}
"""Keywords that do not constrain a value."""
_OF_TYPE = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "prefixItems", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "format"},
}
_EXCERPT = 60
_LONGEST = 2000
"""llama.cpp's limit on repetitions."""


def schema_grammar(text: str) -> str:
    """The grammar, in GBNF, of all answers that this JSON schema describes.

    Raises SettingError, in one line that names the place, if the text is not JSON or asks for something that a grammar
    cannot express.
    """
    try:
        schema = json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise SettingError(f"the JSON schema is not JSON: {error}; correct it") from None
    except RecursionError:
        raise SettingError("the JSON schema is nested too deep: give the inner parts names in $defs") from None
    rules = SchemaRules(schema)
    return "\n".join([f"root ::= {rules.of('#')}", *rules.lines, *shared_lines()]) + "\n"


@dataclass(frozen=True, slots=True)
class Writing:
    """How values and keys are written, and the shared rules that differ from those of JSON."""

    value: Callable[[Any], str]
    key: Callable[[str], str]
    rules: Mapping[str, str]


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if re.search("[\ud800-\udfff]", text) else text


JSON: Final = Writing(_json, _json, {})


def shared_lines(writing: Writing = JSON) -> list[str]:
    """The rules that every grammar with rules of schemas needs."""
    return [f"{name} ::= {rule}" for name, rule in (SHARED_RULES | dict(writing.rules)).items()]


class SchemaRules:
    """The rules of one schema. Each place in the schema has one rule, so places can refer to each other.

    The rules of several schemas can be in one grammar if their prefixes differ.
    """

    def __init__(self, schema: Any, prefix: str = "r", *, exclusive: bool = True, writing: Writing = JSON) -> None:
        """`prefix` begins the names of the rules, which follow it with a number. If not `exclusive`, the parts of a
        `oneOf` need not exclude each other."""
        self._schema = schema
        self._writing = writing
        self._exclusive = exclusive
        self._prefix = prefix
        self._rules: list[str] = []
        self._names: dict[str, str] = {}

    @property
    def lines(self) -> Sequence[str]:
        """The rules so far; they need the shared ones too."""
        return self._rules

    def of(self, place: str) -> str:
        """The name of the rule for a place such as "#" or "#/properties/name".

        Raises SettingError, in one line that names the place, if it asks for something that a grammar cannot express.
        """
        try:
            return self._reference(place, place)
        except RecursionError:
            raise SettingError("the JSON schema is nested too deep: give the inner parts names in $defs") from None

    def _add(self, rule: str) -> str:
        """The name of a new rule."""
        name = f"{self._prefix}{len(self._rules)}"
        self._rules.append(f"{name} ::= {rule}")
        return name

    def _rule(self, schema: Any, place: str) -> str:
        """The name of the rule for this place in the schema."""
        if place not in self._names:
            number = len(self._rules)
            self._names[place] = self._add("")
            self._rules[number] += self._body(schema, place)
        return self._names[place]

    def _body(self, schema: Any, place: str) -> str:
        if schema is True:
            return "value"
        if not isinstance(schema, dict):
            raise _refusal(place, schema, "use an object")
        ours = {key: value for key, value in schema.items() if key not in _NOTES}
        if "$ref" in ours:
            _only(ours, {"$ref"}, place)
            return self._reference(ours["$ref"], f"{place}/$ref")
        for key in ("const", "enum"):
            if key in ours:
                _only(ours, {key, "type"}, place)
                values = [ours[key]] if key == "const" else _list(ours[key], f"{place}/{key}")
                kinds = _kinds(ours, place) if "type" in ours else list(_TYPES)
                possible = [value for value in values if _has_type(value, kinds)]
                possible = _list(possible, f"{place}/{key}, as far as the type fits,")
                return " | ".join(literal(self._writing.value(value)) for value in possible)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in ours:
                _only(ours, {key}, place)
                parts = _list(ours[key], f"{place}/{key}")
                if key == "allOf" and len(parts) > 1:
                    raise _refusal(f"{place}/{key}", parts, "write them as one schema")
                rules = [self._rule(part, f"{place}/{key}/{i}") for i, part in enumerate(parts)]
                checked = combinations(parts, 2) if key == "oneOf" and self._exclusive else ()
                if not all(self._exclude(*pair) for pair in checked):
                    raise _refusal(f"{place}/{key}", parts, "a value may fit two of these: use anyOf")
                return " | ".join(rules)
        return self._typed(ours, place)

    def _typed(self, schema: Mapping[str, Any], place: str) -> str:
        implied = [kind for kind, keys in _OF_TYPE.items() if keys & schema.keys()] or ["value"]
        kinds = _kinds(schema, place) if "type" in schema else implied
        _only(schema, {"type"}.union(*(_OF_TYPE.get(kind, ()) for kind in kinds)), place)
        makers = {"object": self._object, "array": self._array, "string": self._string}
        return " | ".join(makers[kind](schema, place) if kind in makers else kind for kind in kinds)

    def _exclude(self, one: Any, other: Any) -> bool:
        """Whether it is plain that no value fits both: by values, by types, or by a property that both require.

        Both are schemas that rules were made for, so their keywords have the right types.
        """
        one, other = self._referred(one), self._referred(other)
        if not (isinstance(one, dict) and isinstance(other, dict)):
            return False
        values, others = _values(one), _values(other)
        if values is not None and others is not None:
            return {_canonical(value) for value in values}.isdisjoint(map(_canonical, others))
        kinds = _possible(one) & _possible(other)
        if kinds != {"object"}:
            return not kinds
        parts, other_parts = one.get("properties", {}), other.get("properties", {})
        shared = set(one.get("required", [])) & set(other.get("required", [])) & parts.keys() & other_parts.keys()
        return any(self._exclude(parts[name], other_parts[name]) for name in sorted(shared))

    def _referred(self, schema: Any) -> Any:
        """What a reference refers to, or else the schema itself."""
        seen: list[Any] = []
        while isinstance(schema, dict) and "$ref" in schema and schema not in seen:
            seen.append(schema)
            schema = self._found(schema["$ref"], "$ref")
        return schema

    def _reference(self, target: Any, place: str) -> str:
        return self._rule(self._found(target, place), target)

    def _found(self, target: Any, place: str) -> Any:
        """The part of the schema that a reference names."""
        if not isinstance(target, str) or not re.fullmatch(r"#(/.*)?", target):
            raise _refusal(place, target, "use a place in this schema, such as #/$defs/name")
        found = self._schema
        for step in target.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                raise _refusal(place, target, "there is nothing at that place")
        return found

    def _object(self, schema: Mapping[str, Any], place: str) -> str:
        listed = schema.get("properties", {})
        if not isinstance(listed, dict):
            raise _refusal(f"{place}/properties", listed, "use an object")
        required = schema.get("required", [])
        if not isinstance(required, list) or not set(map(str, required)) <= listed.keys():
            raise _refusal(f"{place}/required", required, "list these names under properties")
        more = schema.get("additionalProperties", True)
        if not listed and more is not False:
            member = f'key ":" space {self._rule(more, f"{place}/additionalProperties")}'
            return f'"{{" space ({member} ("," space {member})* space)? "}}"'
        members = []
        for name, part in listed.items():
            value = self._rule(part, f"{place}/properties/{name.replace('~', '~0').replace('/', '~1')}")
            members.append((f'{literal(self._writing.key(name))} ":" space {value}', name in required))
        return f'"{{" space {self._members(members)} space "}}"'

    def _members(self, members: Sequence[tuple[str, bool]]) -> str:
        """The listed properties in order, some of them required, with commas between those that are present.

        Two chains of rules say what may come from property i on: if no property precedes it, and if one does.
        """
        first = later = '""'
        for member, needed in reversed(members):
            as_first = f"{member} {later}"
            as_later = f'"," space {member} {later}'
            first = self._add(as_first if needed else f"{as_first} | {first}")
            later = self._add(as_later if needed else f"{as_later} | {later}")
        return first

    def _array(self, schema: Mapping[str, Any], place: str) -> str:
        least, most = _bounds(schema, "minItems", "maxItems", place)
        if "prefixItems" in schema:
            fixed = _list(schema["prefixItems"], f"{place}/prefixItems")
            if schema.get("items", False) is not False or not least <= len(fixed) <= (most or len(fixed)):
                raise _refusal(place, schema, "with prefixItems, items has to be false and the bounds their number")
            rules = [self._rule(part, f"{place}/prefixItems/{i}") for i, part in enumerate(fixed)]
            return '"[" space ' + ' "," space '.join(rules) + ' space "]"'
        if most == 0:
            return '"[" space "]"'
        item = self._rule(schema.get("items", True), f"{place}/items")
        further = f'{item} ("," space {item}){{{max(least - 1, 0)},{"" if most is None else most - 1}}} space'
        return f'"[" space {further if least else f"({further})?"} "]"'

    def _string(self, schema: Mapping[str, Any], place: str) -> str:
        least, most = _bounds(schema, "minLength", "maxLength", place)
        if "format" in schema:
            if schema["format"] not in FORMATS or (least, most) != (0, None):
                raise _refusal(f"{place}/format", schema["format"], f"use {', '.join(FORMATS)}, without lengths")
            return str(schema["format"])
        if (least, most) == (0, None):
            return "string"
        return f"quote char{{{least},{'' if most is None else most}}} quote"


def _bounds(schema: Mapping[str, Any], low: str, high: str, place: str) -> tuple[int, int | None]:
    least, most = schema.get(low, 0), schema.get(high)
    for name, value in ((low, least), (high, 0 if most is None else most)):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LONGEST:
            raise _refusal(f"{place}/{name}", value, f"use 0 to {_LONGEST}")
    if most is not None and least > most:
        raise _refusal(f"{place}/{high}", most, f"{low} is {least}: use bounds in order")
    return least, most


def _only(schema: Mapping[str, Any], known: set[str], place: str) -> None:
    for key in sorted(schema.keys() - known):
        raise _refusal(f"{place}/{key}", schema[key], "remove it, or write a grammar")


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise _refusal(place, value, "use a list with something in it")
    return value


def _kinds(schema: Mapping[str, Any], place: str) -> list[str]:
    """The types that a schema names."""
    named = schema["type"]
    kinds = _list(named if isinstance(named, list) else [named], f"{place}/type")
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _TYPES:
            raise _refusal(f"{place}/type", kind, f"use {', '.join(_TYPES)}")
    return kinds


def _values(schema: Mapping[str, Any]) -> list[Any] | None:
    """The only values that a schema with `const` or `enum` accepts; None for other schemas."""
    return [schema["const"]] if "const" in schema else schema.get("enum")


def _canonical(value: Any) -> str:
    """A text that is the same for equal JSON values: 1 is equal to 1.0, and properties have no order."""

    def number(text: str) -> float:
        return int(float(text)) if float(text).is_integer() else float(text)

    return json.dumps(json.loads(json.dumps(value), parse_float=number), sort_keys=True)


def _possible(schema: Mapping[str, Any]) -> set[str]:
    """The types of the values that a schema may accept; an integer is a number."""
    if (values := _values(schema)) is not None:
        return {kind for kind in _DISTINCT if any(_has_type(value, [kind]) for value in values)}
    if "type" not in schema:
        return set(_DISTINCT)
    named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {"number" if kind == "integer" else str(kind) for kind in named}


def _has_type(value: Any, kinds: Sequence[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, _TYPES[kind]) for kind in kinds)


def literal(text: str) -> str:
    """A text as a literal of a grammar."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r") + '"'


def _no_constant(name: str) -> None:
    raise ValueError(f"it holds {name}")


def _refusal(place: str, value: Any, remedy: str) -> SettingError:
    shown = json.dumps(value)
    shown = shown if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT]}…"
    return SettingError(f"the JSON schema cannot become a grammar: {place} is {shown}: {remedy}")
