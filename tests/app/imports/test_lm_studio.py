"""LM Studio's conversations: the selected versions, and of an answer's steps the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specchat.imports.lm_studio import is_chat, read_chat
from specchat.imports.records import ImportedMessage

Sample = Callable[[str], Any]


@pytest.fixture
def element(sample: Sample) -> dict[str, Any]:
    return dict(sample("1726000000000.conversation.json"))


def test_the_selected_versions_are_read_without_the_thinking(element: dict[str, Any]) -> None:
    assert is_chat(element)
    chat = read_chat(element)
    assert (chat.source, chat.title, chat.system) == ("lm-studio", "Draft models", "Answer as a teacher.")
    assert (chat.created, chat.updated) == (1726000000, 1726000060)
    assert chat.messages == (
        ImportedMessage("user", "What is a draft model?"),
        ImportedMessage("assistant", "A small one."),
    )


@pytest.mark.parametrize("selected", [9, -1, "0", None])
def test_if_no_version_is_selected_it_is_the_last(element: dict[str, Any], selected: object) -> None:
    element["messages"][0]["currentlySelected"] = selected
    assert read_chat(element).messages[0].content == "What is a draft model?"


def test_an_older_answer_is_a_single_step(element: dict[str, Any]) -> None:
    element["messages"][1]["versions"] = [{"type": "singleStep", "role": "assistant", "content": "as a text"}]
    assert read_chat(element).messages[1].content == "as a text"


def test_the_key_does_not_depend_on_the_name(element: dict[str, Any]) -> None:
    before = read_chat(element).key
    element["name"] = "renamed"
    assert read_chat(element).key == before != ""


def test_a_new_conversation_is_known_by_its_time() -> None:
    assert is_chat({"createdAt": 1, "messages": []})
    assert not is_chat({"messages": [{"role": "user"}]})
