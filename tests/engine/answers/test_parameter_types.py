"""Values without quotes become what the function's schema asks for, wherever in the schema that stands."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parameter_types import as_json, kinds_of, properties_of
from specchat_engine.answers.parser import parse_answer
from support.streamed_answers import JSON_VALUES

SCHEMA: dict[str, Any] = {
    "$defs": {
        "code": {"type": "string", "maxLength": 9},
        "a/b": {"anyOf": [{"$ref": "#/$defs/code"}, {"type": "null"}]},
        "endless": {"$ref": "#/$defs/endless"},
    },
    "type": "object",
    "properties": {
        "referred": {"$ref": "#/$defs/code"},
        "escaped": {"$ref": "#/$defs/a~1b"},
        "all": {"allOf": [{"$ref": "#/$defs/code"}, {"description": "a code"}]},
        "either": {"type": ["string", "null"]},
        "usual": {"default": "7"},
        "count": {"oneOf": [{"type": "integer"}, {"type": "null"}]},
        "narrowed": {"type": ["string", "integer"], "allOf": [{"type": "integer"}]},
        "where": {"anyOf": [{"type": "string"}, {"type": "object"}]},
        "listed": {"type": "array", "items": {"type": "string"}},
        "endless": {"$ref": "#/$defs/endless"},
        "unknown": {"$ref": "#/nowhere"},
    },
}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("referred", "12345", "12345"),
        ("referred", "true", "true"),
        ("escaped", "12345", "12345"),
        ("escaped", "null", None),
        ("all", "007", "007"),
        ("either", "1.0", "1.0"),
        ("either", "None", None),
        ("usual", "12", "12"),
        ("count", "12", 12),
        ("count", "None", None),
        ("narrowed", "5", 5),
        ("where", "{'north': True, 'at': [1, None]}", {"north": True, "at": [1, None]}),
        ("where", '{"north": true}', {"north": True}),
        ("where", "5", "5"),
        ("where", "{north}", "{north}"),
        ("listed", "['a', \"b\"]", ["a", "b"]),
        ("listed", "no list", "no list"),
        ("endless", "5", 5),
        ("unknown", "True", True),
        ("undeclared", "('a')", "('a')"),
    ],
)
@pytest.mark.parametrize("root", [SCHEMA, {"$ref": "#/$defs/f", "$defs": SCHEMA["$defs"] | {"f": SCHEMA}}])
def test_a_parameter_has_the_type_that_its_schema_asks_for(key: str, text: str, value: Any, root: Any) -> None:
    tools = ({"type": "function", "function": {"name": "f", "parameters": root}},)
    call = f"<tool_call>\n<function=f>\n<parameter={key}>\n{text}\n</parameter>\n</function>\n</tool_call>"
    (read,) = parse_answer(call, AnswerFormat("qwen3-coder"), tools).tool_calls
    assert json.loads(read.arguments) == {key: value}


@given(JSON_VALUES)
def test_a_value_without_a_schema_is_what_it_looks_like(value: object) -> None:
    if not isinstance(value, str):
        assert json.loads(as_json(json.dumps(value))) == value
        assert json.loads(as_json(json.dumps(value), {"type": "string"})) == json.dumps(value)


def test_references_that_are_used_twice_at_each_of_many_levels_are_followed_once() -> None:
    names = [f"level{number}" for number in range(80)]
    levels: dict[str, Any] = {
        name: {"anyOf": [{"$ref": f"#/$defs/{inner}"}, {"$ref": f"#/$defs/{inner}"}]} for name, inner in pairwise(names)
    }
    levels[names[-1]] = {"type": "string", "properties": {"x": True}}
    schema = {"$ref": f"#/$defs/{names[0]}", "$defs": levels}
    assert kinds_of(schema) == {"string"}
    assert properties_of(schema) == {"x": "#/$defs/level79/properties/x"}


def test_a_schema_that_says_nothing_of_types_has_none() -> None:
    for schema in (True, {}, {"description": "x"}, {"enum": []}, "string"):
        assert kinds_of(schema) == set()
