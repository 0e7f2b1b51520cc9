"""What a grammar cannot express of a schema is said, and whether the answer follows it all the same."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from support.scripted_server import Script, ScriptedEngine, made_round

MESSAGES = [{"role": "user", "content": "hi"}]
DIFFERENT = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
CALL = '<tool_call>{"name": "f", "arguments": {"a": [1, 1]}}</tool_call>'


def posted(http: httpx2.Client, engine: ScriptedEngine, text: str, **changes: Any) -> dict[str, Any]:
    engine.scripts = [Script((made_round(0, (), text),))]
    response = http.post("/v1/chat/completions", json={"messages": MESSAGES, **changes})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def in_format(schema: object, **more: object) -> dict[str, object]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, **more}}


@pytest.mark.parametrize(
    ("text", "report"),
    [
        ("[1, 2]", {"ignored": ["#/uniqueItems"], "valid": True}),
        ("[1, 1]", {"ignored": ["#/uniqueItems"], "valid": False, "error": "$: [1, 1] has non-unique elements"}),
    ],
)
def test_an_answer_says_what_was_left_out_and_whether_it_is_valid(
    http: httpx2.Client, engine: ScriptedEngine, text: str, report: dict[str, Any]
) -> None:
    assert posted(http, engine, text, response_format=in_format(DIFFERENT))["specchat"]["schema"] == report


def test_an_answer_to_a_schema_that_is_expressed_whole_says_nothing(
    http: httpx2.Client, engine: ScriptedEngine
) -> None:
    assert "specchat" not in posted(http, engine, "3", response_format=in_format({"type": "integer", "minimum": 3}))


def test_a_strict_schema_that_cannot_be_expressed_is_refused_by_its_keyword(http: httpx2.Client) -> None:
    body = {"messages": MESSAGES, "response_format": in_format(DIFFERENT, strict=True)}
    error = http.post("/v1/chat/completions", json=body).json()["error"]
    assert "#/uniqueItems is true" in error["message"]
    assert error["param"] == "response_format.json_schema.schema"


def test_the_arguments_of_a_call_are_checked_too(http: httpx2.Client, engine: ScriptedEngine) -> None:
    parameters = {"type": "object", "properties": {"a": DIFFERENT}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    report = posted(http, engine, CALL, tools=tools)["specchat"]["schema"]
    assert (report["ignored"], report["valid"]) == (["f: #/properties/a/uniqueItems"], False)
    assert report["error"].startswith("f: $.a: ")


def test_a_format_and_a_call_that_is_required_are_taken_and_the_call_wins(
    http: httpx2.Client, engine: ScriptedEngine
) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    answer = posted(http, engine, CALL, tools=tools, tool_choice="required", response_format=in_format(DIFFERENT))
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_a_check_that_takes_long_keeps_nobody_waiting(http: httpx2.Client, engine: ScriptedEngine) -> None:
    endless = {"type": "array", "items": {"pattern": "^(a+)+$"}, "uniqueItems": True}
    text, answered = f'["{"a" * 64}b"]', 0
    engine.scripts = [Script((made_round(0, (), text),))]
    body = {"messages": MESSAGES, "response_format": in_format(endless), "stream": True}
    with ThreadPoolExecutor() as pool, http.stream("POST", "/v1/chat/completions", json=body) as response:
        lines = response.iter_lines()
        assert any("aab" in line for line in lines)
        checked = pool.submit("".join, lines)
        while not checked.done():
            answered += http.get("/health").status_code == 200
    assert "it cannot be checked: a pattern takes too long" in checked.result()
    assert answered > 5, "only those that came before the check"
