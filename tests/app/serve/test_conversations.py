"""Conversations in the forms in which clients send them again: what is clear is taken, in every API."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

import httpx2
import pytest

from specchat.engine_process.protocol import Generate
from specchat_engine.prompt.messages import ToolCall
from support.scripted_server import ScriptedEngine

USER: Any = {"role": "user", "content": "go"}
CHAT = "/v1/chat/completions"


def asked(http: httpx2.Client, engine: ScriptedEngine, path: str, **body: Any) -> Generate:
    """What the engine was asked for a body that is taken."""
    answer = http.post(path, json={"max_tokens": 9} | body)
    assert answer.status_code == 200, answer.text
    return engine.asked[-1]


def refused(http: httpx2.Client, path: str, **body: Any) -> Any:
    """The error for a body that is not."""
    answer = http.post(path, json={"max_tokens": 9} | body)
    assert answer.status_code == 400
    return answer.json()["error"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [("", "{}"), (None, "{}"), ({"city": "Köln"}, '{"city": "Köln"}'), ('{"cut', '{"cut'), ([1], "[1]")],
)
def test_arguments_of_any_form_are_text(http: httpx2.Client, engine: ScriptedEngine, arguments: Any, text: str) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    result = {"role": "tool", "tool_call_id": "a", "content": None}
    said = [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result]
    assert asked(http, engine, CHAT, messages=said).messages[1].tool_calls == (ToolCall("f", text, "a"),)
    item = {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments}
    output = {"type": "function_call_output", "call_id": "a", "output": "r"}
    taken = asked(http, engine, "/v1/responses", input=[USER, item, output])
    assert taken.messages[1].tool_calls == (ToolCall("f", text, "a"),)


def test_the_texts_of_a_message_are_lines_everywhere(http: httpx2.Client, engine: ScriptedEngine) -> None:
    parts = [{"type": "text", "text": text} for text in ("one", "", "two")]
    message = {"role": "user", "content": parts}
    assert asked(http, engine, CHAT, messages=[message]).messages[0].content == "one\ntwo"
    assert asked(http, engine, "/v1/messages", messages=[message], system=parts).messages[0].content == "one\ntwo"
    assert engine.asked[-1].messages[1].content == "one\ntwo"
    assert asked(http, engine, "/v1/responses", input=[message]).messages[0].content == "one\ntwo"


TEXT_FILE = f"data:text/plain;base64,{b64encode(b'the rules').decode()}"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "file", "file": {"filename": "a.txt", "file_data": TEXT_FILE}}, "a.txt:\nthe rules"),
        ({"type": "input_file", "file_data": TEXT_FILE}, "the rules"),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}}, "'a.pdf'"),
        ({"type": "file", "file": {"file_data": "data:text/plain;base64,/w=="}}, "[a file that cannot be read here]"),
        ({"type": "file", "file": {"file_id": "file_1"}}, "[a file that cannot be read here]"),
        ({"type": "document"}, "[a file that cannot be read here]"),
        ({"type": "reference", "reference_ids": [1]}, ""),
    ],
)
def test_files_are_read_or_named(http: httpx2.Client, engine: ScriptedEngine, part: Any, text: str) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "go"}, part]}
    assert text in asked(http, engine, CHAT, messages=[message]).messages[0].content


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "document", "title": "Rules", "source": {"type": "text", "data": "be kind"}}, "Rules\nbe kind"),
        ({"type": "document", "source": {"type": "content", "content": "be kind"}}, "be kind"),
        ({"type": "document", "context": "old", "source": {"type": "content", "content": []}}, "old"),
        (
            {"type": "document", "title": "a.pdf", "source": {"type": "base64", "data": "AAAA"}},
            "'a.pdf' cannot be read",
        ),
        (
            {"type": "search_result", "title": "T", "source": "http://x", "content": [{"type": "text", "text": "y"}]},
            "T\nhttp://x\ny",
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [{"type": "image"}]}},
            "[a part of the type 'image'",
        ),
        ({"type": "tool_reference", "tool_name": "weather"}, "[the tool weather]"),
    ],
)
def test_documents_and_references_of_anthropics_api_are_read(
    http: httpx2.Client, engine: ScriptedEngine, block: Any, text: str
) -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": [block]}
    for content in ([block], [result, {"type": "text", "text": "go"}]):
        taken = asked(http, engine, "/v1/messages", messages=[{"role": "user", "content": content}])
        assert text in taken.messages[0].content


def test_what_another_server_wrote_is_skipped(http: httpx2.Client, engine: ScriptedEngine) -> None:
    blocks = [{"type": "server_tool_use", "id": "s", "name": "web_search"}, {"type": "text", "text": "found"}]
    said = [USER, {"role": "assistant", "content": blocks}, USER]
    assert asked(http, engine, "/v1/messages", messages=said).messages[1].content == "found"


def test_thoughts_come_in_several_forms(http: httpx2.Client, engine: ScriptedEngine) -> None:
    forms: list[Any] = [
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "y"},
            ]
        },
        {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "y"}]},
        {"content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "y"}]},
        {"content": "y", "reasoning": "hm"},
        {"content": "y", "reasoning_content": "hm"},
    ]
    for form in forms:
        answer = asked(http, engine, CHAT, messages=[USER, {"role": "assistant", **form}, USER]).messages[1]
        assert (answer.content, answer.reasoning) == ("y", "hm")


def test_thoughts_of_earlier_steps_stay_with_what_followed_them(http: httpx2.Client, engine: ScriptedEngine) -> None:
    items: list[Any] = [
        USER,
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "look"}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "r"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "done"}], "encrypted_content": None},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "y"}]},
        {"type": "reasoning", "summary": [], "content": None},
        USER,
    ]
    messages = asked(http, engine, "/v1/responses", input=items).messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant", "user"]
    assert [message.reasoning for message in messages if message.role == "assistant"] == ["look", "done"]


def test_an_item_that_is_only_referred_to_is_refused_with_the_remedy(http: httpx2.Client) -> None:
    error = refused(http, "/v1/responses", input=[{"type": "item_reference", "id": "msg_1"}, USER])
    assert error["param"] == "input[0]"
    assert "send the item itself" in error["message"]


BEGUN: Any = {"role": "assistant", "content": "1. "}


def test_an_answer_at_the_end_is_sent_to_be_continued(http: httpx2.Client, engine: ScriptedEngine) -> None:
    for body in ({}, {"continue_final_message": True, "add_generation_prompt": False}):
        assert asked(http, engine, CHAT, messages=[USER, BEGUN], **body).messages[-1].content == "1. "
    assert asked(http, engine, "/v1/messages", messages=[USER, BEGUN]).messages[-1].content == "1. "
    assert asked(http, engine, "/v1/responses", input=[USER, BEGUN]).messages[-1].content == "1. "


def test_what_cannot_be_continued_is_refused(http: httpx2.Client) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}
    assert "send their results" in refused(http, CHAT, messages=[USER, call])["message"]
    assert refused(http, CHAT, messages=[USER], continue_final_message=True)["param"] == "continue_final_message"
    error = refused(http, CHAT, messages=[USER, BEGUN], continue_final_message=False)
    assert error["param"] == "continue_final_message"
    form = {"type": "json_object"}
    assert "to a format" in refused(http, CHAT, messages=[USER, BEGUN], response_format=form)["message"]
    required = refused(http, CHAT, messages=[USER, BEGUN], tools=TOOLS, tool_choice="required")
    assert "to a required call" in required["message"]
    item = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    assert "send their results" in refused(http, "/v1/responses", input=[USER, item])["message"]
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
    assert "send their results" in refused(http, "/v1/messages", messages=[USER, use])["message"]


TOOLS: Any = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


@pytest.mark.parametrize(("mode", "required"), [("auto", False), ("required", True)])
def test_only_the_allowed_tools_are_offered(
    http: httpx2.Client, engine: ScriptedEngine, mode: str, required: bool
) -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": TOOLS[1:]}}
    offer = asked(http, engine, CHAT, messages=[USER], tools=TOOLS, tool_choice=choice).tools
    assert ([tool["function"]["name"] for tool in offer.functions], offer.required) == (["g"], required)
    tools = [{"type": "function", "name": name} for name in ("f", "g")]
    chosen = {"type": "allowed_tools", "mode": mode, "tools": tools[:1]}
    offer = asked(http, engine, "/v1/responses", input="go", tools=tools, tool_choice=chosen).tools
    assert ([tool["function"]["name"] for tool in offer.functions], offer.required) == (["f"], required)


def test_tools_and_choices_are_taken_in_the_form_of_either_api(http: httpx2.Client, engine: ScriptedEngine) -> None:
    flat = [{"type": "function", "name": "f", "description": "d", "strict": True}, {"type": "function"}]
    for path, body in ((CHAT, {"messages": [USER]}), ("/v1/responses", {"input": "go"})):
        offer = asked(http, engine, path, tools=[*flat, *TOOLS[1:]], tool_choice="any", **body).tools
        assert [tool["function"]["name"] for tool in offer.functions] == ["f", "g"]
        assert offer.functions[0]["function"]["strict"]
        assert offer.required
    offer = asked(http, engine, CHAT, messages=[USER], tools=TOOLS, tool_choice={"type": "function", "name": "g"}).tools
    assert [tool["function"]["name"] for tool in offer.functions] == ["g"]


def test_the_calls_of_older_clients_are_calls(http: httpx2.Client, engine: ScriptedEngine) -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": '{"n": 1}'}}
    messages = asked(
        http, engine, CHAT, messages=[USER, call, {"role": "function", "name": "f", "content": "r"}]
    ).messages
    assert messages[1].tool_calls == (ToolCall("f", '{"n": 1}'),)
    assert (messages[2].role, messages[2].name) == ("tool", "f")


@pytest.mark.parametrize("parts", [True, False])
def test_a_line_for_anthropics_server_is_left_out(http: httpx2.Client, engine: ScriptedEngine, parts: bool) -> None:
    header = "x-anthropic-billing-header: cc_version=2.1; cch=0a1b2;"
    blocks = [{"type": "text", "text": header}, {"type": "text", "text": "Be brief.\nx-anthropic-billing-header: no"}]
    system: Any = blocks if parts else f"{header}\n\n{blocks[1]['text']}"
    taken = asked(http, engine, "/v1/messages", messages=[USER], system=system)
    assert taken.messages[0].content == blocks[1]["text"]
    assert [m.role for m in asked(http, engine, "/v1/messages", messages=[USER], system=header).messages] == ["user"]
    through_a_proxy = [{"role": "system", "content": system}, USER]
    assert asked(http, engine, CHAT, messages=through_a_proxy).messages[0].content == blocks[1]["text"]


def test_an_allowed_tool_that_is_not_offered_is_named(http: httpx2.Client) -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"tools": TOOLS}}
    error = refused(http, CHAT, messages=[USER], tools=TOOLS[:1], tool_choice=choice)
    assert "'g'" in error["message"]


def test_an_answer_that_ignores_its_end_cannot_end_itself(http: httpx2.Client, engine: ScriptedEngine) -> None:
    taken = asked(http, engine, CHAT, messages=[USER], ignore_eos=True, logit_bias={"7": 1})
    assert taken.settings.sampling.logit_bias == ((2, -math.inf), (7, 1.0))
    assert not asked(http, engine, "/v1/completions", prompt="go", ignore_eos=False).settings.sampling.logit_bias


def test_tokens_end_an_answer_but_none_is_kept_from_ending_it(http: httpx2.Client, engine: ScriptedEngine) -> None:
    assert asked(http, engine, CHAT, messages=[USER], stop_token_ids=[7, 9], min_tokens=0).settings.stop_tokens == (
        7,
        9,
    )
    assert refused(http, CHAT, messages=[USER], min_tokens=3)["param"] == "min_tokens"
