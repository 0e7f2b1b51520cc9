"""ChatGPT's conversations: the branch that was shown last, and only what was said in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.imports.chatgpt import is_chat, read_chat
from specchat.imports.records import ImportedMessage

Sample = Callable[[str], Any]

ODD = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
ANYTHING = ODD | st.lists(ODD, max_size=2) | st.dictionaries(st.text(max_size=3), ODD, max_size=2)


@pytest.fixture
def element(sample: Sample) -> dict[str, Any]:
    return dict(sample("conversations.json")[0])


def test_the_branch_that_was_shown_last_is_read(element: dict[str, Any]) -> None:
    assert is_chat(element)
    chat = read_chat(element)
    assert (chat.source, chat.key, chat.title) == ("chatgpt", "aaa", "Rounds and drafts")
    assert (chat.created, chat.updated) == (1729000000.25, 1729000900.5)
    assert chat.messages == (
        ImportedMessage("user", "What is a round?", 1729000001.0),
        ImportedMessage("assistant", "One draft and one pass.", 1729000013.0),
        ImportedMessage("user", "[image]\n\nAnd this picture?", 1729000800.0),
        ImportedMessage("assistant", "It shows a tree.", 1729000900.5),
    )


def test_another_branch_is_read_if_that_was_shown(element: dict[str, Any]) -> None:
    element["current_node"] = "aaa-a1-first"
    said = [message.content for message in read_chat(element).messages]
    assert said == ["What is a round?", "The answer that was replaced."]


@pytest.mark.parametrize("current", [None, "gone", 7, ["aaa-a2"]])
def test_without_a_shown_branch_it_is_the_one_with_the_newest_message(element: dict[str, Any], current: object) -> None:
    element["current_node"] = current
    assert read_chat(element).messages[-1].content == "It shows a tree."


def test_what_is_said_to_a_tool_is_left_out(element: dict[str, Any]) -> None:
    call = element["mapping"]["aaa-call"]["message"]
    call["content"] = {"content_type": "text", "parts": ["draw a tree"]}
    call["recipient"] = "dalle.text2im"
    assert read_chat(element).messages[1].content == "One draft and one pass."


def test_what_the_assistant_says_in_several_messages_is_one_answer(element: dict[str, Any]) -> None:
    call = element["mapping"]["aaa-call"]["message"]
    call["content"] = {"content_type": "text", "parts": ["Let me look."]}
    call["recipient"] = "all"
    messages = read_chat(element).messages
    assert [message.role for message in messages] == ["user", "assistant"] * 2
    assert messages[1] == ImportedMessage("assistant", "Let me look.\n\nOne draft and one pass.", 1729000011.0)


def test_what_was_dictated_is_text(element: dict[str, Any]) -> None:
    element["mapping"]["aaa-q2"]["message"]["content"]["parts"] = [
        {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"},
        {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {}},
    ]
    assert read_chat(element).messages[2].content == "spoken words"


def test_a_loop_in_the_tree_ends(element: dict[str, Any]) -> None:
    element["mapping"]["aaa-q1"]["parent"] = "aaa-a2"
    assert len(read_chat(element).messages) == 4


@given(st.data())
def test_no_value_in_any_field_is_too_odd(data: st.DataObject) -> None:
    author: dict[str, Any] = {"role": "user"}
    content: dict[str, Any] = {"content_type": "text", "parts": ["said"]}
    message: dict[str, Any] = {"id": "m", "author": author, "create_time": 1.0, "recipient": "all", "metadata": {}}
    message["content"] = content
    element: dict[str, Any] = {
        "mapping": {"r": {"message": None, "parent": None}, "m": {"message": message, "parent": "r"}},
        "current_node": "m",
        "title": "t",
        "id": "i",
        "create_time": 1.0,
    }
    places = [element, *element["mapping"].values(), message, author, content]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        field = data.draw(st.sampled_from(sorted(place)))
        if (place, field) != (element, "mapping"):
            place[field] = data.draw(ANYTHING)
    chat = read_chat(element)
    assert all(isinstance(said.content, str) and said.role in ("user", "assistant") for said in chat.messages)


def test_marks_without_an_end_take_no_time(element: dict[str, Any]) -> None:
    marks = "\ue200cite" * 1_000_000
    leaf = element["mapping"][element["current_node"]]["message"]
    leaf["content"]["parts"] = [f"It shows\ue200cite\ue201 a tree.{marks}"]
    assert read_chat(element).messages[-1].content == f"It shows a tree.{marks}"
