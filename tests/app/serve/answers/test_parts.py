"""Reasoning and calls of tools in the shapes of all APIs, through their own clients."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import anthropic
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.engine_process.protocol import ChatMessage, Generate, Started
from specchat.serve.answers.deltas import AnswerReader
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.settings import Settings
from support.scripted_server import Script, ScriptedEngine, made_round

MESSAGES: Any = [{"role": "user", "content": "weather?"}]
FUNCTION: Any = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
TOOLS: Any = [{"type": "function", "function": FUNCTION}]
CALLS = [("weather", {"city": "Rome"}), ("weather", {"city": "Oslo"})]
PIECES = [
    "<th",
    "ink>the",
    " user",
    " asks</th",
    "ink>",
    "\n\nI",
    " look.",
    "\n<tool",
    '_call>\n{"name": "weather", "argu',
]
PIECES += ['ments": {"city"', ': "Rome"}}\n</tool_call>', '\n<tool_call>\n{"name": "weather", "arguments": {"city": ']
PIECES += ['"Oslo"}}\n</tool_call>', ""]


@pytest.fixture(autouse=True)
def written(engine: ScriptedEngine) -> None:
    """The model thinks, says something and calls a tool twice."""
    engine.scripts = [Script([made_round(i, (), text) for i, text in enumerate(PIECES)])]


def test_the_chat_api_tells_them_apart(client: openai.OpenAI) -> None:
    choice = client.chat.completions.create(model="m", messages=MESSAGES, tools=TOOLS).choices[0]
    message = choice.message
    assert choice.finish_reason == "tool_calls"
    assert message.content == "I look."
    assert message.model_extra is not None
    assert message.model_extra["reasoning_content"] == "the user asks"
    calls = [call for call in message.tool_calls or [] if call.type == "function"]
    assert [(call.function.name, json.loads(call.function.arguments)) for call in calls] == CALLS
    assert len({call.id for call in calls}) == 2


def test_a_stream_of_the_chat_api_adds_up_to_the_same(client: openai.OpenAI) -> None:
    with client.chat.completions.stream(model="m", messages=MESSAGES, tools=TOOLS) as stream:
        chunks = [event.chunk for event in stream if event.type == "chunk"]
        message = stream.get_final_completion().choices[0].message
    assert message.content == "I look."
    calls = message.tool_calls or []
    assert [(call.function.name, json.loads(call.function.arguments)) for call in calls] == CALLS
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join((delta.model_extra or {}).get("reasoning_content", "") for delta in deltas) == "the user asks"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "tool_calls"
    changes = [call for delta in deltas for call in delta.tool_calls or []]
    assert {call.index for call in changes} == {0, 1}
    assert [call.id for call in changes if call.id] == [call.id for call in calls], "each id is sent once"
    assert len(changes) >= 4, "arguments come as they are written"


def test_openais_newer_api_has_an_item_for_each(client: openai.OpenAI) -> None:
    tools: Any = [{"type": "function", **FUNCTION}]
    answer = client.responses.create(model="m", input="weather?", tools=tools)
    assert [item.type for item in answer.output] == ["reasoning", "message", "function_call", "function_call"]
    assert answer.output_text == "I look."
    called = [item for item in answer.output if item.type == "function_call"]
    assert [(item.name, json.loads(item.arguments)) for item in called] == CALLS
    assert len({item.call_id for item in called}) == 2
    assert answer.usage is not None
    assert 0 < answer.usage.output_tokens_details.reasoning_tokens < answer.usage.output_tokens
    with client.responses.stream(model="m", input="weather?", tools=tools) as stream:
        events = list(stream)
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "function_call"]
    done = [event.arguments for event in events if event.type == "response.function_call_arguments.done"]
    assert [json.loads(arguments) for arguments in done] == [arguments for _, arguments in CALLS]
    thought = [event.delta for event in events if event.type == "response.reasoning_text.delta"]
    assert "".join(thought) == "the user asks"


def test_anthropics_api_has_a_block_for_each(claude: anthropic.Anthropic) -> None:
    tools: Any = [{"name": "weather", "input_schema": FUNCTION["parameters"]}]
    asked: Any = {"model": "m", "max_tokens": 99, "messages": MESSAGES, "tools": tools}
    whole = claude.messages.create(**asked)
    with claude.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    for answer in (whole, streamed):
        assert [block.type for block in answer.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert answer.stop_reason == "tool_use"
        used = [block for block in answer.content if block.type == "tool_use"]
        assert [(block.name, block.input) for block in used] == CALLS
        assert getattr(answer.content[0], "thinking", "") == "the user asks"
        assert getattr(answer.content[1], "text", "") == "I look."


def test_without_tools_nothing_is_a_call(client: openai.OpenAI) -> None:
    for change in ({}, {"tools": TOOLS, "tool_choice": "none"}):
        choice = client.chat.completions.create(model="m", messages=MESSAGES, **change).choices[0]
        assert choice.finish_reason == "stop"
        assert choice.message.tool_calls is None
        assert "<tool_call>" in (choice.message.content or "")


def test_a_raw_continuation_is_never_taken_apart(client: openai.OpenAI) -> None:
    assert client.completions.create(model="m", prompt="a").choices[0].text == "".join(PIECES)


def test_reasoning_that_the_prompt_opened_is_reasoning(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    engine.scripts = [Script([made_round(0, (), "so</think>yes"), made_round(1, (), "")], thinking=True)]
    message = client.chat.completions.create(model="m", messages=MESSAGES).choices[0].message
    assert message.content == "yes"
    assert message.model_extra is not None
    assert message.model_extra["reasoning_content"] == "so"


@pytest.mark.parametrize(
    ("answer", "thought"), [('{"a": 1}', "so"), ('{"name": "weather", "arguments": {"city": "Rome"}}', "")]
)
def test_an_answer_in_a_format_is_content_after_a_thought_and_where_it_looks_like_a_call(
    client: openai.OpenAI, engine: ScriptedEngine, answer: str, thought: str
) -> None:
    text = f"{thought}</think>{answer}" if thought else answer
    engine.scripts = [Script([made_round(0, (), text), made_round(1, (), "")], thinking=bool(thought))]
    form: Any = {"type": "json_object"}
    asked = {"model": "m", "messages": MESSAGES, "tools": TOOLS, "response_format": form}
    choice = client.chat.completions.create(**asked).choices[0]
    assert (choice.message.content, choice.finish_reason) == (answer, "stop")
    assert not choice.message.tool_calls


def test_a_model_may_call_a_tool_before_it_answers_in_a_format(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    call = '<tool_call>{"name": "weather", "arguments": {"city": "Rome"}}</tool_call>'
    engine.scripts = [Script([made_round(0, (), call), made_round(1, (), "")])]
    form: Any = {"type": "json_object"}
    asked = {"model": "m", "messages": MESSAGES, "tools": TOOLS, "response_format": form}
    choice = client.chat.completions.create(**asked).choices[0]
    assert (choice.message.content, choice.finish_reason) == (None, "tool_calls")
    assert [each.function.name for each in choice.message.tool_calls or ()] == ["weather"]


@pytest.mark.parametrize(
    ("choice", "required", "names"),
    [
        (None, False, ["weather", "time"]),
        ("auto", False, ["weather", "time"]),
        ("required", True, ["weather", "time"]),
        ({"type": "function", "function": {"name": "time"}}, True, ["time"]),
        ("none", False, []),
    ],
)
def test_a_choice_says_which_tools_may_or_must_be_called(
    client: openai.OpenAI, engine: ScriptedEngine, choice: Any, required: bool, names: list[str]
) -> None:
    tools: Any = [*TOOLS, {"type": "web_search"}, {"type": "function", "function": {"name": "time"}}]
    change = {} if choice is None else {"tool_choice": choice}
    client.chat.completions.create(model="m", messages=MESSAGES, tools=tools, **change)
    (request,) = engine.asked
    assert [tool["function"]["name"] for tool in request.tools.functions] == names
    assert request.tools.required == required


@given(st.sets(st.integers(1, 5)), st.booleans())
def test_how_many_tokens_reason_does_not_depend_on_the_rounds_that_brought_them(cuts: set[int], opened: bool) -> None:
    texts = [*([] if opened else ["<think>"]), "the", " user", "</think>", "\n\n", "I", " look"]
    reader = AnswerReader(Generate((ChatMessage("user", "weather?"),), seed=1, settings=Settings()), AnswerFormat())
    reader.read(Started({"prompt_tokens": 3, "opens_reasoning": opened}))
    for index, (begin, end) in enumerate(pairwise([0, *sorted(cuts), len(texts)])):
        reader.read(made_round(index, texts[begin : end - 1], texts[end - 1]))
    assert reader.figures.reasoning_tokens == len(texts) - 3
