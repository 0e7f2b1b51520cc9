"""Anthropic's API over a scripted engine, through Anthropic's own client."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2
import pytest

from specchat.engine_process.errors import EngineDied
from support.scripted_server import HELLO, Script, ScriptedEngine, made_round, template_messages

ASKED: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}


def test_a_message_is_answered(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, cached=2)]
    answer = claude.messages.create(**ASKED, system="be brief", extra_body={"temperature": 0.5, "top_k": 3})
    assert [(block.type, getattr(block, "text", None)) for block in answer.content] == [("text", "Hello world")]
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens, answer.usage.output_tokens) == (1, 2, 5)
    (request,) = engine.asked
    assert template_messages(request) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
    ]
    assert (request.settings.sampling.temperature, request.settings.sampling.top_k) == (0.5, 3)
    assert request.settings.max_tokens == 9


def test_a_stream_shows_how_the_message_grows(claude: anthropic.Anthropic) -> None:
    with claude.messages.stream(**ASKED) as stream:
        texts = list(stream.text_stream)
        final = stream.get_final_message()
    assert texts == ["Hel", "lo world"]
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens == 5
    kinds = [event.type for event in claude.messages.create(**ASKED, stream=True)]
    assert kinds == [
        "message_start",
        "content_block_start",
        *["content_block_delta"] * 2,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_stop_sequence_is_named(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    engine.scripts = [Script([made_round(0, ("one", " EN"), "D"), made_round(1, (), "!")], reason="stop", text="one ")]
    answer = claude.messages.create(**ASKED, stop_sequences=["STOP", "END"])
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")
    assert getattr(answer.content[0], "text", "") == "one "


def test_a_limit_is_reported_as_the_reason(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    engine.scripts = [Script([made_round(0, (), "cut")], reason="length")]
    assert claude.messages.create(**ASKED).stop_reason == "max_tokens"


def test_calls_and_results_become_messages(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    conversation: Any = [
        {"role": "user", "content": "weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "sunny"}]},
                {"type": "text", "text": "and now?", "cache_control": {"type": "ephemeral"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "rain"}]},
    ]
    claude.messages.create(model="m", max_tokens=5, messages=conversation)
    call = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
    assert template_messages(engine.asked[0]) == [
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": "sunny"},
        {"role": "user", "content": "and now?"},
        {"role": "tool", "tool_call_id": "t2", "content": "rain"},
    ]


def test_tools_are_offered_and_those_of_other_types_skipped(
    claude: anthropic.Anthropic, engine: ScriptedEngine
) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools: Any = [
        {"name": "weather", "description": "Returns it.", "input_schema": schema},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    claude.messages.create(**ASKED, tools=tools, thinking={"type": "disabled"})
    function = {"name": "weather", "description": "Returns it.", "parameters": schema}
    assert engine.asked[0].tools.functions == ({"type": "function", "function": function},)
    assert engine.asked[0].variables == {"enable_thinking": False}


def test_a_schema_holds_the_answer(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    config: Any = {"format": {"type": "json_schema", "schema": {"type": "boolean"}}, "effort": "low"}
    claude.messages.create(**ASKED, output_config=config)
    assert json.loads(engine.asked[0].settings.sampling.grammar)["type"] == "boolean"
    assert engine.asked[0].variables == {"reasoning_effort": "low"}


def test_tokens_are_counted(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    messages: Any = [{"role": "user", "content": "two words"}]
    assert claude.messages.count_tokens(model="m", messages=messages, system="one").input_tokens == 3


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": None},
        {"max_tokens": 0},
        {"messages": []},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
        {"stop_sequences": ["x"] * 17},
        {"tool_choice": {"type": "tool", "name": "nothing"}},
        {"tool_choice": {"type": "tool"}},
        {"tool_choice": {"type": "any"}},
        {"temperature": 1e9},
    ],
)
def test_what_cannot_be_served_is_refused_in_the_apis_own_shape(http: httpx2.Client, change: Any) -> None:
    answer = http.post("/v1/messages", json=ASKED | change)
    assert answer.status_code == 400
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == "invalid_request_error"


def test_an_engine_that_dies_in_a_stream_is_an_error(claude: anthropic.Anthropic, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, error=EngineDied("the engine's process ended"), fails_at=2)]
    with pytest.raises(anthropic.APIStatusError, match="the engine's process ended"):
        list(claude.messages.create(**ASKED, stream=True))
