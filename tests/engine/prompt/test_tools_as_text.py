"""A template that knows no tools still shows them to the model, with its calls and their results."""

from __future__ import annotations

import json

from specchat_engine import Message, Prompt, ToolCall
from specchat_engine.prompt.template import FALLBACK, ChatTemplate
from specchat_engine.prompt.tools_as_text import with_tools_as_text

TOOL = {"type": "function", "function": {"name": "weather", "description": "Über das Wetter"}}
CALLS = (ToolCall("weather", '{"city": "Rome"}', "a"), ToolCall("weather", '{"city": "Ulm"}', "b"))
ASKED = [
    Message("user", "Rain?"),
    Message("assistant", "I look.", CALLS),
    Message("tool", "no", tool_call_id="a"),
    Message("tool", "yes", tool_call_id="b"),
    Message("assistant", "In Ulm."),
    Message("user", "Why?"),
]


def test_calls_and_results_become_messages_that_alternate() -> None:
    messages = with_tools_as_text(Prompt(ASKED)).messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "assistant", "user"]
    assert messages[1].content == (
        'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>\n'
        '<tool_call>\n{"name": "weather", "arguments": {"city": "Ulm"}}\n</tool_call>'
    )
    assert messages[2].content == "<tool_response>\nno\n</tool_response>\n<tool_response>\nyes\n</tool_response>"


def test_the_first_message_describes_the_tools() -> None:
    prompt = with_tools_as_text(Prompt(ASKED, [TOOL]))
    assert not prompt.tools
    description, _, question = prompt.messages[0].content.rpartition("\n\n")
    assert question == "Rain?"
    assert json.dumps(TOOL["function"], ensure_ascii=False) in description.splitlines()
    assert "<tool_call>" in description


def test_an_answer_describes_no_tools() -> None:
    first, second = with_tools_as_text(Prompt([Message("assistant", "Hello."), *ASKED[:1]], [TOOL])).messages[:2]
    assert first.role == "system"
    assert "<tool_call>" in first.content
    assert second.content == "Hello."


def test_templates_without_a_word_of_tools_get_them_so() -> None:
    text = ChatTemplate(FALLBACK).render(Prompt(ASKED[:3], [TOOL]))
    assert "Über das Wetter" in text
    assert "<|im_start|>user\n<tool_response>\nno\n</tool_response><|im_end|>" in text
    plain = ChatTemplate(FALLBACK).render(ASKED[-1:])
    assert plain == "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"
