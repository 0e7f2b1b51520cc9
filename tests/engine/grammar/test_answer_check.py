"""A finished answer is checked against the whole schema."""

from __future__ import annotations

import pytest

from specchat_engine.grammar.answer_check import flaw


@pytest.mark.parametrize(
    ("schema", "text", "where"),
    [
        ({"uniqueItems": True}, "[1, 1]", "$: [1, 1] has non-unique elements"),
        ({"properties": {"a": {"not": {"const": 1}}}}, '{"a": 1}', "$.a: "),
        ({"items": {"pattern": "^(?=.*[0-9])"}}, '["a"]', "$[0]: 'a' does not match"),
        ({"pattern": "^(a+)+$"}, f'"{"a" * 64}b"', "it cannot be checked: a pattern takes too long"),
        ({"pattern": "("}, '"a"', "it cannot be checked: "),
        ({"$ref": "#/nowhere"}, "1", "it cannot be checked: "),
        ({}, '{"a": ', "it is not JSON"),
    ],
)
def test_what_does_not_follow_is_said_with_its_place(schema: object, text: str, where: str) -> None:
    assert flaw(schema, text).startswith(where)
    assert len(flaw(schema, text).splitlines()) == 1


@pytest.mark.parametrize("schema", [{"uniqueItems": True}, {"items": {"pattern": "^(?=.*[0-9])"}}, True])
def test_what_follows_has_no_flaw(schema: object) -> None:
    assert flaw(schema, '["a1", "a2"]') == ""
