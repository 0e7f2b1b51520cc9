"""JSON schemas as llguidance takes them, and what it cannot express of them.

An object with listed properties has no others unless the schema says so, and JSON is written in one line, so that a
model cannot get lost. A schema may say otherwise under `x-guidance`, where llguidance finds its options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote

from specchat_engine.errors import SettingError
from specchat_engine.grammar.apart import try_apart

OPTIONS: Final = "x-guidance"
"""The key of a schema under which llguidance finds its options."""

WHOLE: Final = "x-whole"
"""The key of a lenient schema under which the whole schema stands, if something was left out."""

_SPACE: Final = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""JSON in one line, spaced as Python and most chat templates write it: all between the values is then forced."""

_IN_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_IN_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_ALONE: Final = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_JOINS: Final = ("anyOf", "oneOf", "allOf", "$ref")
_LARGEST: Final = 10**15 - 1
_SMALLEST: Final = 1e-9
"""Numbers have at most 15 digits before the point and 9 after it, unless the schema says otherwise."""

_WHOLE: Final = "#/$defs/whole"
_COUNT: Final = re.compile(r" \(\d+ times\)$")
_FEW: Final = 8
_EXCERPT: Final = 60
_TOO_DEEP: Final = "nested too deep: give the inner parts names in $defs"


def parsed(text: str) -> Any:
    """The schema in a text. Raises SettingError if it is not JSON."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except ValueError as error:
        raise SettingError(f"the JSON schema is not JSON: {error}; correct it") from None
    except RecursionError:
        raise SettingError(f"the JSON schema is {_TOO_DEEP}") from None


def prepared(schema: Any, *, is_lenient: bool = False) -> dict[str, Any]:
    """The schema with options of llguidance, where it has none of its own, bounded numbers and closed objects.

    llguidance leaves out the keywords that it does not know if it `is_lenient`.
    """
    if not isinstance(schema, dict):
        schema = {} if schema is True else {"allOf": [schema]}
    return {**_narrowed(schema), OPTIONS: {**_SPACE, "lenient": is_lenient, **schema.get(OPTIONS, {})}}


def lenient(schema: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema as far as a grammar can express it, and the places of the keywords that the grammar leaves out.

    If there are any, it has the whole schema under `WHOLE`.

    The latest results are kept: agents send the same tools with every request. Raises SettingError, in one line, if no
    grammar can be made of it.
    """
    try:
        return _lenient(json.dumps(schema))
    except RecursionError:
        raise SettingError(refusal(schema, "recursion limit")) from None


@lru_cache(256)
def _lenient(text: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    schema = json.loads(text)
    ignored = [place for place, _ in _unreadable(schema)]
    usable = prepared(_without(schema, ignored) if ignored else schema, is_lenient=True)
    is_error, messages = _validated(usable)
    if is_error:
        raise SettingError(refusal(schema, messages[0]))
    for message in messages:
        named = [place for place, _ in _named(schema, message)]
        ignored += named or ["#"]  # it may stand in another schema that this one refers to
    return ({**usable, WHOLE: schema} if ignored else usable), tuple(ignored)


def check_schema(schema: Any) -> None:
    """Raises SettingError, in one line that names the place, if a grammar cannot express the whole schema."""
    is_error, messages = _validated(prepared(schema))
    if is_error:
        raise SettingError(refusal(schema, messages[0]))


def refusal(schema: Any, error: str) -> str:
    """Why a schema cannot become a grammar, from llguidance's error: the place, what stands there, and the remedy."""
    if "recursion limit" in error:
        return f"the JSON schema is {_TOO_DEEP}"
    reason = error.splitlines()[0]
    for place, value in (*_named(schema, error), *_unreadable(schema)):
        remedy = "a value may fit two of these: use anyOf" if place.endswith("oneOf") else "remove it"
        reason = f"{place.replace(_WHOLE, '#', 1)} is {_excerpt(value)}: {remedy}"
        break
    return f"the JSON schema cannot become a grammar: {reason}"


def part_of(schema: Mapping[str, Any], pointer: str) -> dict[str, Any]:
    """The schema of the part at a JSON pointer such as "#/properties/name", with all that it may refer to."""
    return {"$ref": _WHOLE + quote(pointer[1:], safe="/%", errors="surrogatepass"), "$defs": {"whole": _moved(schema)}}


def referred(pointer: str, schema: Any) -> Any:
    """Returns what stands in a schema at a JSON pointer such as "#/$defs/a", or None if nothing does."""
    start, *steps = pointer.split("/")
    part = schema if start == "#" else None
    for step in steps:
        inner = {str(index): each for index, each in enumerate(part)} if isinstance(part, list) else part
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        part = inner.get(name) if isinstance(inner, Mapping) else None
    return part


def step_to(name: str) -> str:
    """Returns the step of a JSON pointer to a property with this name."""
    return name.replace("~", "~0").replace("/", "~1").replace("%", "%25")


def may_explode(schema: Any) -> bool:
    """Whether building may take very long: more than a few patterns, which `allOf` may intersect."""
    found = [part for _, part in _parts(schema)]
    patterns = sum(("pattern" in part) + ("format" in part) for part in found)
    return patterns > _FEW and any("allOf" in part or len({"$ref", "properties"} & part.keys()) > 1 for part in found)


def _validated(schema: Mapping[str, Any]) -> tuple[bool, list[str]]:
    from llguidance import LLMatcher

    try:
        source = LLMatcher.grammar_from_json_schema(dict(schema))
        if may_explode(schema):
            try_apart(source)
        return LLMatcher.validate_grammar_with_warnings(source)
    except (RecursionError, ValueError) as error:
        return True, [f"recursion limit: {error}"]


def _parts(schema: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema, itself first, with its place."""
    waiting: list[tuple[str, Any]] = [("#", schema)]
    while waiting:
        place, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        yield place, part
        inner: list[tuple[str, Any]] = [(key, part[key]) for key in _ALONE if key in part]
        for key in _IN_MAPS:
            if isinstance(part.get(key), dict):
                inner += [(f"{key}/{step_to(name)}", each) for name, each in part[key].items()]
        for key in _IN_LISTS:
            if isinstance(part.get(key), list):
                inner += [(f"{key}/{index}", each) for index, each in enumerate(part[key])]
        waiting += reversed([(f"{place}/{steps}", each) for steps, each in inner])


def _named(schema: Any, message: str) -> list[tuple[str, Any]]:
    """The places of the keywords that a message of llguidance is about, with their values."""
    message = _COUNT.sub("", message)
    if message.startswith("Unimplemented keys: "):
        keys = set(json.loads(message.removeprefix("Unimplemented keys: ")))
    else:
        keys = {key for key, start in (("format", "Unknown format"), ("oneOf", "oneOf ")) if message.startswith(start)}
    return [
        (f"{place}/{key}", part[key])
        for place, part in _parts(schema)
        for key in part.keys() & keys
        if key != "format" or message.endswith(f": {part[key]}")
    ]


def _unreadable(schema: Any) -> list[tuple[str, Any]]:
    """The patterns that a grammar cannot express, such as those that look ahead, with their places."""
    from llguidance import LLMatcher

    return [
        (f"{place}/pattern", part["pattern"])
        for place, part in _parts(schema)
        if isinstance(part.get("pattern"), str)
        and LLMatcher.validate_grammar(
            LLMatcher.grammar_from_json_schema({"type": "string", "pattern": part["pattern"]})
        )
    ]


def _without(schema: Any, places: list[str]) -> Any:
    """A schema without the keywords at these places."""
    copy = json.loads(json.dumps(schema))
    for place, part in [*_parts(copy)]:
        for key in [key for key in part if f"{place}/{key}" in places]:
            del part[key]
    return copy


def _narrowed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with bounds for numbers that have none.

    It has no other properties than those listed, unless schemas are joined or it says something else.
    """
    copy: dict[str, Any] = json.loads(json.dumps(schema))
    parts = [part for _, part in _parts(copy)]
    joined = any(map(_joins, parts))
    for part in parts:
        if {"integer", "number"} & {*_kinds(part)} and not {"enum", "const"} & part.keys():
            _bound(part)
        listed, required = part.get("properties"), part.get("required", [])
        is_whole = isinstance(listed, dict) and isinstance(required, list) and {*map(str, required)} <= listed.keys()
        if listed and is_whole and not joined and not {"patternProperties", "unevaluatedProperties"} & part.keys():
            part.setdefault("additionalProperties", False)
    return copy


def _kinds(part: Mapping[str, Any]) -> list[str]:
    named = part.get("type")
    return [kind for kind in (named if isinstance(named, list) else [named]) if isinstance(kind, str)]


def _bound(part: dict[str, Any]) -> None:
    """Bounds the digits of a number: a small model may repeat one for ever."""
    given = [part.get(key) for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")]
    if all(isinstance(value, int | float) and abs(value) < _LARGEST for value in given if value is not None):
        if "exclusiveMinimum" not in part:
            part.setdefault("minimum", -_LARGEST)
        if "exclusiveMaximum" not in part:
            part.setdefault("maximum", _LARGEST)
    if "number" in _kinds(part):
        part.setdefault("multipleOf", _SMALLEST)


def _joins(part: Mapping[str, Any]) -> bool:
    """Whether the properties of an object may stand in several schemas."""
    alternatives = part.get("allOf")
    return (isinstance(alternatives, list) and len(alternatives) > 1) or (
        bool({"properties", "additionalProperties"} & part.keys()) and bool({*_JOINS} & part.keys())
    )


def _moved(schema: Any) -> Any:
    """A schema whose references begin at `_WHOLE`."""
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: re.sub(r"^#(?=/|$)", _WHOLE, value)
        if key == "$ref" and isinstance(value, str)
        else value
        if key in ("enum", "const", "default", "examples")
        else _moved(value)
        for key, value in schema.items()
    }


def _excerpt(value: Any) -> str:
    shown = json.dumps(value)
    return shown if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT]}…"


def _no_constant(name: str) -> None:
    raise ValueError(f"it holds {name}")
