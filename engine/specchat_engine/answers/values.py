"""Values that notations write without JSON's quotes, and the types that a schema names for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def as_json(value: str, schema: Any = True) -> str:
    """A bare value as JSON: what its schema wants, or else what it looks like."""
    plain = {"True": "true", "False": "false", "None": "null"}.get(value.strip(), value)
    if "string" in kinds_of(schema):
        return (
            "null" if plain.strip() == "null" and "null" in kinds_of(schema) else json.dumps(value, ensure_ascii=False)
        )
    try:
        return json.dumps(json.loads(plain, parse_constant=_refused), ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps(value, ensure_ascii=False)


def escaped(text: str) -> str:
    """A text as it stands inside a string of JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def kinds_of(schema: Any) -> set[str]:
    """The types that a schema names, also in its alternatives and by its values; none if it names none."""
    if not isinstance(schema, Mapping):
        return set()
    named = schema.get("type")
    kinds = {named} if isinstance(named, str) else {kind for kind in listed(named) if isinstance(kind, str)}
    if not kinds:
        kinds = {"string" for value in (*listed(schema.get("enum")), schema.get("const")) if isinstance(value, str)}
    return kinds.union(*(kinds_of(one) for key in ("anyOf", "oneOf") for one in listed(schema.get(key))))


def listed(value: Any) -> list[Any]:
    """The value if it is a list, or else none."""
    return value if isinstance(value, list) else []


def _refused(name: str) -> None:
    raise ValueError(name)
