"""The level of thinking on its way through the engine's process to the chat template of a real file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.engine_process.conftest import OPTIONS, SHORT, answer, asked, last_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Generate, Loaded, Started
from specchat_engine.prompt.messages import Message
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from support.tiny_models import TEMPLATE, write_tiny_model

SWITCH = "{% if enable_thinking is defined and enable_thinking %}<think>{% else %}<think></think>{% endif %}"


@pytest.fixture
def thinker(client: LocalClient, tmp_path: Path) -> LocalClient:
    path = write_tiny_model(tmp_path / "thinker.gguf", seed=1, n_ctx=512, template=TEMPLATE + SWITCH)
    loaded = last_of(Loaded, client.load(path, None, OPTIONS))
    assert loaded.thinking == ThinkingSwitch("enable_thinking")
    return client


def start_of(client: LocalClient, **changes: Any) -> dict[str, Any]:
    """The start line of an answer."""
    events = answer(client, replace(SHORT, drafter="lookup", **changes))
    return next(event.line for event in events if isinstance(event, Started))


def test_the_level_reaches_the_template_and_the_trace(thinker: LocalClient) -> None:
    line = start_of(thinker, thinking="high")
    assert (line["params"]["thinking"], line["variables"]) == ("high", {"enable_thinking": True})
    assert line["opens_reasoning"] is True
    line = start_of(thinker, thinking="off")
    assert line["variables"] == {"enable_thinking": False}
    assert "opens_reasoning" not in line
    assert "variables" not in start_of(thinker)


def test_an_earlier_thought_is_for_the_template_and_no_content(thinker: LocalClient) -> None:
    earlier = ChatMessage("assistant", "<think>\nzebra\n</think>\n\nYes.")
    assert earlier.for_engine() == Message("assistant", "Yes.", reasoning_content="zebra")
    messages = (ChatMessage("user", "hello"), earlier, ChatMessage("user", "<think>and</think>"))
    request = Generate(messages, turn=1, seed=7, settings=replace(SHORT, drafter="lookup"))
    started = next(asked(thinker, request))
    assert isinstance(started, Started)
    sent = [(message["content"], message.get("reasoning_content")) for message in started.line["messages"]]
    assert sent == [("hello", None), ("Yes.", "zebra"), ("<think>and</think>", None)]
