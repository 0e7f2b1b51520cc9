"""Messages come in the form of OpenAI's chat API; what cannot be read is refused in one line."""

from __future__ import annotations

import pytest

from specchat_engine import Message, Prompt, SettingError, ToolCall

CALL = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}


def test_a_conversation_with_a_call_is_read_and_written_the_same() -> None:
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rain?", "name": "Ann"},
        {"role": "assistant", "content": "", "tool_calls": [CALL], "reasoning_content": "I should look."},
        {"role": "tool", "content": "no", "tool_call_id": "call_1"},
    ]
    messages = [Message.of(one) for one in said]
    assert messages[2].tool_calls == (ToolCall("weather", '{"city": "Rome"}', "call_1"),)
    assert [message.to_json() for message in messages] == said


def test_what_others_call_differently_is_understood() -> None:
    assert Message.of({"role": "developer", "content": None}) == Message("system", "")
    assert Message.of({"role": "function", "content": "no", "name": "rain"}) == Message("tool", "no", name="rain")
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert Message.of({"role": "user", "content": parts, "unknown": 1}) == Message("user", "one\ntwo")
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    said = [thought, {"type": "output_text", "text": "yes"}]
    assert Message.of({"role": "assistant", "content": said}) == Message("assistant", "yes", reasoning_content="hm")
    assert Message.of({"role": "assistant", "content": "yes", "reasoning": "hm"}).reasoning_content == "hm"
    for arguments, text in ((None, "{}"), ("", "{}"), ({"zone": "Köln"}, '{"zone": "Köln"}'), ([1], "[1]")):
        assert ToolCall.of({"function": {"name": "now", "arguments": arguments}}) == ToolCall("now", text)


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("hello", "a message is 'hello'"),
        ({"content": "hello"}, "the role None: use system, user, assistant, tool"),
        ({"role": ["user"], "content": "hello"}, "the role"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {}}]}, "'image_url': only text"),
        ({"role": "user", "content": 7}, "content is 7"),
        ({"role": "user", "content": [{"type": "text", "text": 7}]}, "text of a content part is 7"),
        ({"role": "user", "content": "x", "name": 7}, "name of a message is 7"),
        ({"role": "assistant", "content": "", "tool_calls": "f"}, "tool_calls are 'f'"),
        ({"role": "assistant", "tool_calls": [{"id": "x"}]}, "a tool call is {'id': 'x'}"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": 7}}]}, "name of a tool call is 7"),
    ],
)
def test_what_is_no_message_is_refused(message: object, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint) as caught:
        Message.of(message)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("tool", ["f", {}, {"function": "f"}, {"function": {"name": 7}}, {"type": "web_search"}])
def test_a_tool_is_a_function_with_a_name(tool: object) -> None:
    with pytest.raises(SettingError, match="give a function with a name"):
        Prompt([], [tool])  # type: ignore[list-item]


def test_a_raw_prompt_has_no_messages() -> None:
    with pytest.raises(SettingError, match="raw prompt has no messages"):
        Prompt([Message("user", "x")], raw="y")
