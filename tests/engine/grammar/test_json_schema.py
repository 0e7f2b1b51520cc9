"""Whatever the grammar of a schema allows is JSON that the schema accepts; what cannot be said is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from specchat_engine import SettingError
from specchat_engine.grammar.json_schema import schema_grammar
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


def said(vocabulary: Vocabulary, schema: object, seed: int) -> str:
    """One of the answers that the schema's grammar allows."""
    return random_text(vocabulary, schema_grammar(json.dumps(schema)), seed)


def is_person(value: Any) -> bool:
    assert set(value) <= set(PERSON["properties"])  # type: ignore[call-overload]
    name, tags = value.get("name", "abc"), value.get("tags", [])
    return isinstance(value["a/b~c"], int) and 1 <= len(name) <= 4 and len(tags) <= 2 and {*tags} <= {"x", "y"}


@pytest.mark.parametrize(
    ("schema", "accepts"),
    [
        (PERSON, is_person),
        (True, lambda value: json.dumps(value) != ""),
        ({"type": "object"}, lambda value: isinstance(value, dict)),
        ({"type": "object", "additionalProperties": False}, lambda value: value == {}),
        ({"additionalProperties": {"type": "boolean"}}, lambda value: all(v in (True, False) for v in value.values())),
        ({"type": ["integer", "null"]}, lambda value: value is None or isinstance(value, int)),
        ({"type": "number"}, lambda value: isinstance(value, int | float) and abs(value) < 1e200),
        ({"items": {"type": "boolean"}, "minItems": 2, "maxItems": 3}, lambda value: 2 <= len(value) <= 3),
        ({"items": {"type": "null"}, "maxItems": 0}, lambda value: value == []),
        ({"prefixItems": [{"const": 1}, {"type": "string"}], "items": False}, lambda value: value[0] == 1 != value[1]),
        ({"enum": ["é\\\n\"😀", "\ud800", 3, True], "type": ["string", "boolean"]}, {"é\\\n\"😀", "\ud800", True}),
        ({"allOf": [{"oneOf": [{"const": [None]}, {"const": -0.5}]}]}, lambda value: value in ([None], -0.5)),
        ({"type": "string", "format": "date"}, lambda value: date.fromisoformat(value).year >= 0),
        ({"type": "string", "format": "uuid"}, lambda value: [*map(len, value.split("-"))] == [8, 4, 4, 4, 12]),
    ],
    ids=lambda part: json.dumps(part)[:40] if isinstance(part, dict) else "",
)  # fmt: skip
def test_every_answer_is_json_that_the_schema_accepts(
    vocabulary: Vocabulary, schema: object, accepts: Callable[[Any], bool] | set[object]
) -> None:
    answers = {said(vocabulary, schema, seed) for seed in range(10)}
    for answer in answers:
        value = json.loads(answer)
        assert value in accepts if isinstance(accepts, set) else accepts(value), answer


def follows(vocabulary: Vocabulary, schema: object, text: str) -> bool:
    """Whether the grammar allows this text as a whole answer."""
    return allows(vocabulary, schema_grammar(json.dumps(schema)), text)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"a/b~c":1}', True),
        ('{"name":"x","a/b~c":1}', True),
        ('{"a/b~c":1,"tags":[]}', True),
        ('{\n  "name": "éé",\n  "a/b~c": -12,\n  "tags": ["x", "y"]\n}', True),
        ("{}", False),
        ('{"name":"x"}', False),
        ('{"name":"x",}', False),
        ('{,"a/b~c":1}', False),
        ('{"a/b~c":01}', False),
        ('{"a/b~c":1,"name":"x"}', False),
        ('{"a/b~c":1,"other":1}', False),
        ('{"a/b~c":1,"tags":["x","x","x"]}', False),
        ('{"a/b~c":1}}', False),
    ],
)
def test_optional_properties_come_and_go_in_their_order(vocabulary: Vocabulary, text: str, allowed: bool) -> None:
    assert follows(vocabulary, PERSON, text) is allowed


def test_a_schema_may_refer_to_itself_and_to_names_that_grammars_use(vocabulary: Vocabulary) -> None:
    assert follows(vocabulary, TREE, '{"next": {"next": {"next": null}}}')
    assert not follows(vocabulary, TREE, '{"next": {"next": "x"}}')
    assert not follows(vocabulary, TREE, '"text"')


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('"a\u2028\u0080😀"', True),
        (r'"\" \\ \n \u00e9 \uD7ff"', True),
        ('"\n"', False),
        ('"\x7f"', False),
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
        ("{", "is not JSON: Expecting property name"),
        ('{"const": NaN}', "is not JSON: it holds NaN"),
        ("[" * 100_000, "nested too deep"),
        ('{"items":' * 400 + "{}" + "}" * 400, "nested too deep"),
        ("3", "# is 3: use an object"),
        ("false", "# is false"),
        ('{"type": "str"}', '#/type is "str": use object, array'),
        ('{"type": "value"}', '#/type is "value"'),
        ('{"type": []}', "#/type is []"),
        ('{"type": {}}', "#/type is {}"),
        ('{"type": "integer", "minimum": 3}', "#/minimum is 3: remove it, or write a grammar"),
        ('{"items": {"pattern": "^a$"}}', '#/items/pattern is "^a$"'),
        ('{"properties": {"a": {"not": {}}}}', "#/properties/a/not is {}"),
        ('{"properties": [1]}', "#/properties is [1]"),
        ('{"required": ["a"]}', '#/required is ["a"]'),
        ('{"required": [[1]]}', "#/required is [[1]]"),
        ('{"enum": []}', "#/enum is []"),
        ('{"enum": [3], "type": "string"}', "#/enum"),
        ('{"anyOf": [], "type": "string"}', "#/type"),
        ('{"allOf": [{}, {}]}', "#/allOf is [{}, {}]"),
        ('{"$ref": "https://example.org/x"}', '#/$ref is "https://example.org/x"'),
        ('{"$ref": "#/$defs/x"}', "there is nothing at that place"),
        ('{"minLength": 5, "maxLength": 2}', "#/maxLength is 2: minLength is 5"),
        ('{"minItems": true}', "#/minItems is true"),
        ('{"maxItems": 9999}', "#/maxItems is 9999: use 0 to 2000"),
        ('{"format": "email"}', '#/format is "email"'),
        ('{"prefixItems": [{}], "items": {}}', "with prefixItems"),
        ('{"const": "' + "x" * 500 + '", "not": 1}', "#/not is 1"),
    ],
)
def test_what_a_grammar_cannot_say_is_an_error_with_its_place(schema: str, named: str) -> None:
    with pytest.raises(SettingError) as caught:
        schema_grammar(schema)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 200
    assert len(str(caught.value).splitlines()) == 1


KIND_A = {"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}
KIND_B = {"type": "object", "properties": {"kind": {"enum": ["b", "c"]}, "n": {"type": "null"}}, "required": ["kind"]}


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "string"}, {"type": ["number", "null"]}, {"type": "array"}],
        [{"const": 1}, {"enum": [2, "1", True]}],
        [{"const": "a"}, {"type": "integer"}],
        [KIND_A, KIND_B, {"type": "null"}],
        [{"$ref": "#/$defs/a"}, KIND_B],
    ],
)
def test_one_of_parts_that_exclude_each_other_is_any_of_them(parts: list[object]) -> None:
    schema, loose = ({"$defs": {"a": KIND_A}, key: parts} for key in ("oneOf", "anyOf"))
    assert schema_grammar(json.dumps(schema)) == schema_grammar(json.dumps(loose))


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "integer"}, {"type": "number"}],
        [{"const": 1}, {"const": 1.0}],
        [{"const": [1, {"a": 2, "b": 3}]}, {"enum": ["x", [1.0, {"b": 3, "a": 2}]]}],
        [{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 2}],
        [{"const": "a"}, {"type": "string"}],
        [{"type": "null"}, {"maxLength": 2}],
        [KIND_A, {"type": "object", "properties": {"kind": {"const": "b"}}}],
        [{"$ref": "#/$defs/a"}, KIND_A],
        [True, {"type": "null"}],
    ],
)
def test_one_of_parts_that_may_overlap_is_refused(parts: list[object]) -> None:
    with pytest.raises(SettingError, match=r"#/oneOf is .* use anyOf"):
        schema_grammar(json.dumps({"$defs": {"a": KIND_A}, "oneOf": parts}))


@pytest.mark.parametrize(
    ("broken", "place"),
    [({"type": "object", "required": 5}, "required"), ({"properties": []}, "properties"), ({"enum": 3}, "enum")],
)
def test_one_of_parts_with_a_mistake_is_refused_for_the_mistake(broken: object, place: str) -> None:
    with pytest.raises(SettingError, match=f"#/oneOf/1/{place} is"):
        schema_grammar(json.dumps({"oneOf": [{"type": "object"}, broken]}))
