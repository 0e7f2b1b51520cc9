"""OpenAI's newer API over a scripted engine, through OpenAI's own client."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from specchat.engine_process.errors import EngineDied
from support.scripted_server import HELLO, Script, ScriptedEngine, made_round, template_messages


def test_a_text_is_answered(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    answer = client.responses.create(model="m", input="hi", instructions="be brief", max_output_tokens=9)
    assert answer.output_text == "Hello world"
    assert answer.status == "completed"
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (3, 5)
    (request,) = engine.asked
    assert template_messages(request) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert request.settings.max_tokens == 9


def test_a_stream_shows_how_the_response_grows(client: openai.OpenAI) -> None:
    with client.responses.stream(model="m", input="hi") as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [event.type for event in events] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(10))
    assert final.output_text == "Hello world"


def test_a_limit_makes_a_response_incomplete(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    engine.scripts = [Script([made_round(0, (), "cut")], reason="length")]
    answer = client.responses.create(model="m", input="hi")
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "max_output_tokens"
    *_, last = client.responses.create(model="m", input="hi", stream=True)
    assert last.type == "response.incomplete"


def test_calls_and_their_outputs_become_messages(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    conversation: Any = [
        {"role": "developer", "content": "rules"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "weather?"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'},
        {"type": "function_call", "call_id": "c2", "name": "time", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "noon"}]},
    ]
    client.responses.create(model="m", input=conversation)
    assert template_messages(engine.asked[0]) == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}},
                {"id": "c2", "type": "function", "function": {"name": "time", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
        {"role": "tool", "tool_call_id": "c2", "content": "noon"},
    ]


def test_functions_are_offered_and_other_tools_skipped(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools: Any = [
        {"type": "web_search"},
        {"type": "function", "name": "weather", "description": "Returns it.", "parameters": parameters, "strict": True},
        {"type": "custom", "name": "shell"},
    ]
    client.responses.create(model="m", input="hi", tools=tools)
    function = {"name": "weather", "description": "Returns it.", "parameters": parameters, "strict": True}
    assert engine.asked[0].tools.functions == ({"type": "function", "function": function},)


def test_a_format_holds_the_text_to_a_schema(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    form: Any = {"format": {"type": "json_schema", "name": "n", "schema": {"type": "boolean"}, "strict": True}}
    client.responses.create(model="m", input="hi", text=form)
    assert json.loads(engine.asked[0].settings.sampling.grammar)["type"] == "boolean"


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": "a", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": [{"type": "message", "content": "x"}]}, "input[0].role"),
        ({"input": [{"type": "computer_call"}]}, "input[0]"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content[0].image_url"),
        ({"input": [{"type": "function_call", "name": "f"}]}, "input[0]"),
        ({"input": "a", "text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
    ],
)
def test_what_cannot_be_served_is_named(http: httpx2.Client, asked: Any, param: str) -> None:
    answer = http.post("/v1/responses", json=asked)
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_an_engine_that_dies_fails_the_response(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, error=EngineDied("the engine's process ended"), fails_at=2)]
    *_, last = client.responses.create(model="m", input="hi", stream=True)
    assert last.type == "response.failed"
    assert last.response.error is not None
    assert last.response.error.message == "the engine's process ended"
