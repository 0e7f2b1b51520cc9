"""Whatever the grammar of a schema allows is JSON that the schema accepts; what cannot be said is refused by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import validators

from specchat_engine import SettingError
from specchat_engine.grammar.schema import WHOLE, check_schema, lenient, part_of, referred, step_to
from specchat_engine.llama.vocabulary import Vocabulary
from support.grammar_walks import allows, random_text

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 4},
        "a/b~c": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["x", "y"]}, "maxItems": 2},
    },
    "required": ["a/b~c"],
    "additionalProperties": False,
}
TREE = {
    "$ref": "#/$defs/string",
    "$defs": {"string": {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}},
}


def follows(vocabulary: Vocabulary, schema: object, text: str) -> bool:
    """Whether the grammar allows this text as a whole answer."""
    return allows(vocabulary, json.dumps(schema), text)


def accepts(schema: Any, value: object) -> bool:
    return bool(validators.validator_for(schema)(schema).is_valid(value))


SEEN: Mapping[str, tuple[Any, str]] = {
    "zod .int()": (
        {"type": "integer", "minimum": -9007199254740991, "maximum": 9007199254740991},
        "-12",
    ),
    "pydantic ge and le": ({"type": "integer", "minimum": 0, "maximum": 150, "title": "Age"}, "150"),
    "exclusive bounds": ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, "0.25"),
    "multipleOf": ({"type": "integer", "multipleOf": 5}, "25"),
    "pattern": ({"type": "string", "pattern": r"^\d{3}-[A-Z]+$"}, '"123-AB"'),
    "format email": ({"type": "string", "format": "email"}, '"ann@example.org"'),
    "the 29th": ({"type": "string", "format": "date"}, '"2024-02-29"'),
    "time stamp": ({"type": "string", "format": "date-time"}, '"2024-02-29T23:59:59Z"'),
    "allOf of two": (
        {"allOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"properties": {"b": {"const": 1}}}]},
        '{"a": null, "b": 1}',
    ),
    "patternProperties": (
        {"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": False},
        '{"x-a": 1}',
    ),
    "own keywords": ({"type": "boolean", "x-order": 3, "discriminator": {"propertyName": "kind"}}, "true"),
    "escaped reference": (
        {
            "type": "array",
            "$ref": "#/$defs/List~1of~0int%25",
            "$defs": {"List/of~int%": {"items": {"type": "null"}}},
        },
        "[null]",
    ),
    "recursion that begins with itself": ({"anyOf": [{"type": "null"}, {"$ref": "#"}]}, "null"),
    "optional of pydantic": ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "null"),
    "enum of several types": ({"enum": ['é\\\n"😀', 3, True, None, {"a": [1.5]}]}, '{"a": [1.5]}'),
    "closed object": (PERSON, '{"a/b~c": 1, "tags": ["x"]}'),
    "exclusive oneOf": (
        {
            "oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"enum": ["b", "c"]}}, "required": ["kind"]},
            ]
        },
        '{"kind": "c"}',
    ),
    "long enum": ({"enum": [f"country {number}" for number in range(3000)]}, '"country 2999"'),
    "counts": ({"type": "object", "additionalProperties": {"type": "integer"}, "maxProperties": 2}, '{"a": 1}'),
    "openapi": ({"type": "string", "nullable": True, "example": "x", "minLength": 1, "maxLength": 3}, '"abc"'),
}


@pytest.mark.parametrize("name", SEEN)
def test_schemas_that_people_send_are_taken_whole(vocabulary: Vocabulary, name: str) -> None:
    schema, example = SEEN[name]
    check_schema(schema)
    assert accepts(schema, json.loads(example))
    assert follows(vocabulary, schema, example)
    for seed in range(3):
        text = random_text(vocabulary, json.dumps(schema), seed)
        if len(text.encode()) < 2000:
            assert accepts(schema, json.loads(text)), text


leaves = st.one_of(
    st.sampled_from([True, {}, {"type": "null"}, {"type": "boolean"}, {"type": "number"}, {"type": "string"}]),
    st.builds(
        lambda low, more: {"type": "integer", "minimum": low, "maximum": low + more},
        st.integers(-99, 99),
        st.integers(0, 99),
    ),
    st.builds(
        lambda low, more: {"type": "string", "minLength": low, "maxLength": low + more},
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    st.builds(lambda values: {"enum": values}, st.lists(st.text(max_size=4), min_size=1, max_size=3)),
    st.sampled_from([{"type": "string", "format": "uuid"}, {"type": "string", "pattern": "^[ab]{1,3}$"}]),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def made(properties: dict[str, Any], needed: list[bool], more: dict[str, Any]) -> dict[str, Any]:
        required = [name for name, is_needed in zip(properties, needed, strict=False) if is_needed]
        return {"type": "object", "properties": properties, "required": required, **more}

    named = st.dictionaries(st.text('ab~/"é', min_size=1, max_size=3), inner, max_size=3)
    more = st.sampled_from([{}, {"additionalProperties": False}])
    return st.builds(made, named, st.lists(st.booleans(), max_size=3), more)


schemas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items, most: {"type": "array", "items": items, "maxItems": most}, inner, st.integers(0, 3)),
        st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schemas, st.integers(0, 99))
def test_every_answer_is_json_that_the_schema_accepts(vocabulary: Vocabulary, schema: Any, seed: int) -> None:
    text = random_text(vocabulary, json.dumps(schema), seed)
    assume(len(text.encode()) < 2000)
    assert accepts(schema, json.loads(text)), text


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"a/b~c": 1}', True),
        ('{"name": "x", "a/b~c": 1}', True),
        ('{"a/b~c": 1, "tags": []}', True),
        ('{"name": "éé", "a/b~c": -12, "tags": ["x", "y"]}', True),
        ("{}", False),
        ('{"name": "x"}', False),
        ('{"name": "x", }', False),
        ('{, "a/b~c": 1}', False),
        ('{"a/b~c": 01}', False),
        ('{"a/b~c": 1, "name": "x"}', False),
        ('{"a/b~c": 1, "other": 1}', False),
        ('{"a/b~c": 1, "tags": ["x", "x", "x"]}', False),
        ('{"a/b~c":1}', False),
        ('{"a/b~c": 1}}', False),
    ],
)
def test_optional_properties_come_and_go_in_their_order(vocabulary: Vocabulary, text: str, allowed: bool) -> None:
    assert follows(vocabulary, PERSON, text) is allowed


def test_a_schema_may_ask_for_other_spaces(vocabulary: Vocabulary) -> None:
    spaced = {**PERSON, "x-guidance": {"whitespace_flexible": True, "item_separator": ",", "key_separator": ":"}}
    assert follows(vocabulary, spaced, '{\n  "name": "é",\n  "a/b~c": -12\n}')


def test_a_schema_may_refer_to_itself_and_to_names_that_grammars_use(vocabulary: Vocabulary) -> None:
    assert follows(vocabulary, TREE, '{"next": {"next": {"next": null}}}')
    assert not follows(vocabulary, TREE, '{"next": {"next": "x"}}')
    assert not follows(vocabulary, TREE, '"text"')


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('"a\u2028\u0080😀"', True),
        (r'"\" \\ \n \u0007"', True),
        ('"\n"', False),
        (r'"\ud83d\ude00"', False),
        (r'"\x41"', False),
    ],
)
def test_a_string_holds_no_raw_control_characters_and_no_half_surrogates(
    vocabulary: Vocabulary, text: str, allowed: bool
) -> None:
    assert follows(vocabulary, {"type": "string"}, text) is allowed


@pytest.mark.parametrize(
    ("schema", "named"),
    [
        ('{"items":' * 400 + "{}" + "}" * 400, "nested too deep: give the inner parts names in $defs"),
        ("3", "schema must be an object or boolean"),
        ("false", "schema is false"),
        ('{"type": "str"}', "Invalid type: str"),
        ('{"properties": {"a": {"not": {}}}}', "#/properties/a/not is {}: remove it"),
        ('{"properties": {"a/b": {"uniqueItems": true}}}', "#/properties/a~1b/uniqueItems is true"),
        ('{"items": {"pattern": "(?=a)b"}}', '#/items/pattern is "(?=a)b": remove it'),
        ('{"format": "card"}', '#/format is "card"'),
        ('{"oneOf": [{"type": "integer"}, {"type": "number"}]}', "a value may fit two of these: use anyOf"),
        ('{"enum": []}', "anyOf is empty"),
        ('{"$ref": "https://example.org/x"}', "https://example.org/x"),
        ('{"$ref": "#/$defs/x"}', "does not exist"),
        ('{"minLength": 5, "maxLength": 2, "type": "string"}', "minLength (5) is greater than maxLength (2)"),
        ('{"const": "' + "x" * 500 + '", "not": 1}', "#/not is 1"),
    ],
)
def test_what_a_grammar_cannot_say_is_an_error_with_its_place(schema: str, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        check_schema(json.loads(schema))
    assert named in str(caught.value)
    assert len(str(caught.value)) < 250
    assert len(str(caught.value).splitlines()) == 1


LEFT_OUT: Mapping[str, object] = {"uniqueItems": True, "contains": {}, "if": {}, "not": {}, "propertyNames": {}} | {
    "dependentRequired": {},
    "unevaluatedProperties": False,
    "pattern": "(?!a)",
    "format": "card",
    "oneOf": [{"type": "integer"}, {"type": "number"}],
}


def test_what_is_left_out_in_several_places_is_named_at_each() -> None:
    parts = [{"unevaluatedItems": False}, {"format": "color"}, {"format": "color", "unevaluatedItems": True}]
    ignored = {"#/allOf/0/unevaluatedItems", "#/allOf/2/unevaluatedItems", "#/allOf/1/format", "#/allOf/2/format"}
    assert {*lenient({"allOf": parts})[1]} == ignored
    with pytest.raises(SettingError, match="#/allOf/0/unevaluatedItems is false: remove it"):
        check_schema({"allOf": parts[:1] + parts[2:]})


def test_what_is_left_out_of_another_schema_counts_as_a_part_of_this_one() -> None:
    assert "#" in lenient({"$ref": "https://json-schema.org/draft/2020-12/schema"})[1]


@pytest.mark.parametrize(("keyword", "value"), LEFT_OUT.items())
def test_what_is_left_out_of_a_lenient_schema_is_named(vocabulary: Vocabulary, keyword: str, value: object) -> None:
    schema = {"type": "object", "properties": {"a": {keyword: value}, "b": {"type": "null"}}}
    usable, ignored = lenient(schema)
    assert usable[WHOLE] == schema
    assert ignored == (f"#/properties/a/{keyword}",)
    assert follows(vocabulary, usable, '{"a": 1, "b": null}')
    assert not follows(vocabulary, usable, '{"a": 1, "b": 2}')


def test_a_part_of_a_schema_keeps_what_it_refers_to(vocabulary: Vocabulary) -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/n"}, "b/c": {"$ref": "#/properties/a"}},
        "$defs": {"n": {"const": 3}},
    }
    for name in ("a", "b~1c"):
        part = part_of(schema, f"#/properties/{name}")
        assert follows(vocabulary, part, "3")
        assert not follows(vocabulary, part, "4")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_pointer_leads_to_a_property_of_any_name(name: str) -> None:
    schema = {"anyOf": [{"properties": {name: {"const": 3}}}]}
    pointer = f"#/anyOf/0/properties/{step_to(name)}"
    assert referred(pointer, schema) == {"const": 3}
    check_schema(part_of(schema, pointer))


@pytest.mark.parametrize("pointer", ["#/anyOf/1", "#/anyOf/x", "#/anyOf/0/const/0", "#anyOf", "anyOf", ""])
def test_a_pointer_to_nothing_gives_nothing(pointer: str) -> None:
    assert referred(pointer, {"anyOf": [{"const": 3}], "": 1}) is None
