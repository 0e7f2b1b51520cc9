"""Open WebUI's chats: the shown branch, without what the model thought and called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specchat.imports.open_webui import is_chat, read_chat
from specchat.imports.records import ImportedMessage

Sample = Callable[[str], Any]


@pytest.fixture
def element(sample: Sample) -> dict[str, Any]:
    return dict(sample("open-webui.json")[0])


def test_the_shown_branch_is_read_without_the_reasoning(element: dict[str, Any]) -> None:
    assert is_chat(element)
    chat = read_chat(element)
    assert (chat.source, chat.key) == ("open-webui", "5f1c")
    assert (chat.title, chat.system) == ("Drafts in Open WebUI", "Be brief.")
    assert (chat.created, chat.updated) == (1736000000, 1736000010)
    assert chat.messages == (
        ImportedMessage("user", "What is a draft?", 1736000000),
        ImportedMessage("assistant", "Tokens that may be right.", 1736000009),
    )


def test_a_chat_without_the_record_around_it_is_read(element: dict[str, Any]) -> None:
    assert is_chat(element["chat"])
    chat = read_chat(element["chat"])
    assert chat.title == "an older title"
    assert chat.created == 1736000000.123  # milliseconds there
    assert len(chat.messages) == 2


def test_a_chat_of_the_first_versions_is_a_list(element: dict[str, Any]) -> None:
    del element["chat"]["history"]
    element["chat"]["messages"] = [
        {"role": "user", "content": [{"type": "text", "text": "a question"}, {"type": "image_url"}]},
        {"role": "assistant", "content": "an answer"},
    ]
    assert is_chat(element)
    assert [message.content for message in read_chat(element).messages] == ["a question", "an answer"]


def test_an_answer_in_steps_is_read(element: dict[str, Any]) -> None:
    answer = element["chat"]["history"]["messages"]["m3"]
    answer["content"] = ""
    answer["output"] = [
        {"type": "reasoning", "content": [{"type": "output_text", "text": "hidden"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "in steps"}]},
    ]
    assert read_chat(element).messages[-1].content == "in steps"


def test_without_a_shown_branch_the_last_message_ends_it(element: dict[str, Any]) -> None:
    element["chat"]["history"]["currentId"] = None
    assert read_chat(element).messages[-1].content == "Tokens that may be right."
    assert not any(map(is_chat, ({"messages": []}, {"chat": "a name"}))), "other objects"


@pytest.mark.parametrize("tag", ['<details type="reasoning"', '<details type="tool_calls">', "<details " + " " * 40])
def test_tags_without_an_end_take_no_time(tag: str) -> None:
    said = 'Two<details type="reasoning" done="true">so</details>\n words. ' + tag * 200_000
    chat = {"history": {"messages": {"a": {"id": "a", "role": "user", "content": said}}, "currentId": "a"}}
    assert read_chat({"chat": chat}).messages[0].content == f"Twowords. {tag * 200_000}"
