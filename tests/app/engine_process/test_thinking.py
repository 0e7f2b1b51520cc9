"""The level of thinking on its way through the engine's process to the chat template of a real file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.engine_process.conftest import OPTIONS, SHORT, answer, last_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Generate, Loaded, Notice, Started
from specchat_engine.prompt.messages import Message
from specchat_engine.prompt.thinking_switch import ThinkingSwitch
from specchat_engine.sampling.params import SamplingParams
from support.tiny_models import TEMPLATE, TinyModels, write_tiny_model

SWITCH = "{% if enable_thinking is defined and enable_thinking %}<think>{% else %}<think></think>{% endif %}"
CLOSES = SamplingParams(temperature=0, grammar='root ::= "hm</think>" "yes"')


@pytest.fixture
def thinker(client: LocalClient, tmp_path: Path) -> LocalClient:
    path = write_tiny_model(tmp_path / "thinker.gguf", seed=1, n_ctx=512, template=TEMPLATE + SWITCH)
    loaded = last_of(Loaded, client.load(path, None, OPTIONS))
    assert loaded.thinking == ThinkingSwitch("enable_thinking")
    return client


def ended(client: LocalClient, **changes: Any) -> tuple[dict[str, Any], Ended, list[str]]:
    """The start line of an answer, its end, and the notices."""
    started, *events = answer(client, replace(SHORT, **({"drafter": "lookup"} | changes)))
    assert isinstance(started, Started)
    assert isinstance(events[-1], Ended)
    return started.line, events[-1], [event.text for event in events if isinstance(event, Notice)]


def test_the_level_reaches_the_template_and_the_trace(thinker: LocalClient) -> None:
    line, _, notices = ended(thinker, thinking="high")
    assert (line["params"]["thinking"], line["variables"]) == ("high", {"enable_thinking": True})
    assert line["opens_reasoning"] is True
    line, _, _ = ended(thinker, thinking="off")
    assert line["variables"] == {"enable_thinking": False}
    assert "opens_reasoning" not in line
    line, _, _ = ended(thinker)
    assert "variables" not in line
    assert notices == []


def test_the_statistics_have_those_of_the_reasoning(thinker: LocalClient) -> None:
    text = "hm</think>yes"
    _, end, _ = ended(thinker, max_tokens=100, sampling=CLOSES)
    assert end.text == text
    assert "reasoning" not in end.stats, "the prompt closed it"
    grammar = SamplingParams(temperature=0, grammar='root ::= "yes"')
    closing = SamplingParams(temperature=0, grammar='root ::= "<think>hm</think>yes"')
    _, end, _ = ended(thinker, max_tokens=100, sampling=closing)
    assert end.stats["reasoning"]["num_tokens"] == len("<think>hm</think>")
    _, end, _ = ended(thinker, max_tokens=40, sampling=grammar, thinking="on")
    assert end.stats["reasoning"]["num_tokens"] == 40, "the grammar waits for the end of the reasoning"


def test_an_earlier_thought_is_for_the_template_and_no_content(thinker: LocalClient) -> None:
    earlier = ChatMessage("assistant", "<think>\nzebra\n</think>\n\nYes.")
    assert earlier.for_engine() == Message("assistant", "Yes.", reasoning_content="zebra")
    asked = (ChatMessage("user", "hello"), earlier, ChatMessage("user", "<think>and</think>"))
    started = next(iter(thinker.generate(Generate(asked, turn=1, seed=7, settings=replace(SHORT, drafter="lookup")))))
    assert isinstance(started, Started)
    told = [(message["content"], message.get("reasoning_content")) for message in started.line["messages"]]
    assert told == [("hello", None), ("Yes.", "zebra"), ("<think>and</think>", None)]


def test_a_file_without_a_switch_is_noticed_once(loaded: LocalClient, tiny_models: TinyModels) -> None:
    found = [ended(loaded, drafter="hybrid", thinking="high")[2] for _ in range(2)]
    assert [len(notices) for notices in found] == [1, 0]
    assert "no switch" in found[0][0]
