"""The types of a call's parameters, as the function's schema describes them, and bare values as JSON of these types."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from specchat_engine.answers.python_literals import literal_value
from specchat_engine.grammar.schema import referred, step_to


def as_json(value: str, schema: Any = True, root: Any = None) -> str:
    """A bare value as JSON: what its schema asks for, or else what it looks like, in JSON's or Python's notation.

    Where a text may stand, only null, lists and objects that may stand there too are not text.
    """
    kinds = kinds_of(schema, root)
    try:
        read = _value_in(value)
        if "string" in kinds and _kind_of(read) not in kinds & {"null", "array", "object"}:
            read = value
        return json.dumps(read, ensure_ascii=False, allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return json.dumps(value, ensure_ascii=False)


def _value_in(text: str) -> Any:
    """The value that a text is. Raises what the parsers of JSON and Python raise if it is none."""
    bare = text.strip()
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(bare, bare), parse_constant=_refused)
    except ValueError:
        if bare[:1] in ("{", "["):
            return literal_value(bare)
        raise


def kinds_of(schema: Any, root: Any = None) -> set[str]:
    """The types that a schema allows, also in its parts and alternatives, or by its values and its default.

    None if it says nothing about them. References are looked up in `root`, which is the schema itself if left out.
    """
    return _kinds(schema, schema if root is None else root, {})


def _kinds(schema: Any, root: Any, known: dict[str, set[str]]) -> set[str]:
    """The same; `known` has the types of the references that were followed, none for one that leads to itself."""
    if not isinstance(schema, Mapping):
        return set()
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference not in known:
            known[reference] = set()
            known[reference] = _kinds(referred(reference, root), root, known)
        return known[reference]
    named = schema.get("type")
    kinds = {named} if isinstance(named, str) else {kind for kind in listed(named) if isinstance(kind, str)}
    kinds = kinds or {_kind_of(value) for value in (*listed(schema.get("enum")), *_given(schema, "const"))}
    for part in listed(schema.get("allOf")):
        kinds = _both(kinds, _kinds(part, root, known))
    either = [_kinds(part, root, known) for key in ("anyOf", "oneOf") for part in listed(schema.get(key))]
    return _both(kinds, set().union(*either)) or {_kind_of(value) for value in _given(schema, "default")}


def _both(kinds: set[str], others: set[str]) -> set[str]:
    """The types that are in both; all of one if the other says nothing."""
    return kinds & others if kinds and others else kinds | others


def _given(schema: Mapping[str, Any], key: str) -> list[Any]:
    return [schema[key]] if key in schema else []


def _kind_of(value: Any) -> str:
    """The name of a value's type in a schema."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def properties_of(schema: Any) -> dict[str, str]:
    """The places of an object's properties, as JSON pointers, by their names.

    They may stand in the schema, in what it refers to, and in parts and alternatives.
    """
    parts = _joined(schema, schema, "#", ("allOf", "anyOf", "oneOf"), set())
    return {
        name: f"{place}/properties/{step_to(name)}"
        for place, part in parts
        if isinstance(part.get("properties"), Mapping)
        for name in part["properties"]
    }


def required_of(schema: Any) -> set[str]:
    """The names of the properties that an object has to have, whatever alternatives there are."""
    parts = _joined(schema, schema, "#", ("allOf",), set())
    return {name for _, part in parts for name in listed(part.get("required")) if isinstance(name, str)}


def options_of(schema: Any, root: Any) -> list[Any]:
    """The values that a schema lists, also in what it refers to and in its parts; empty if it lists none."""
    parts = _joined(schema, root, "", ("allOf",), set())
    return next((part["enum"] for _, part in parts if listed(part.get("enum"))), [])


def _joined(
    schema: Any, root: Any, place: str, keys: tuple[str, ...], seen: set[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas that describe a value together, with their places: what a schema refers to and has under the keys.

    The schema itself comes last. No place comes twice.
    """
    if place in seen or not isinstance(schema, Mapping):
        return
    seen.add(place)
    reference = schema.get("$ref")
    if isinstance(reference, str):
        yield from _joined(referred(reference, root), root, reference, keys, seen)
    for key in keys:
        for index, part in enumerate(listed(schema.get(key))):
            yield from _joined(part, root, f"{place}/{key}/{index}", keys, seen)
    yield place, schema


def listed(value: Any) -> list[Any]:
    """The value if it is a list, or else none."""
    return value if isinstance(value, list) else []


def _refused(name: str) -> None:
    raise ValueError(name)
