"""Tools in the engine's process: what the model reads of them, and the calls in its answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from app.engine_process.conftest import HELLO, SHORT, last_of, text_of
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Offer, Started
from specchat_engine import Settings
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.grammar import tool_grammar
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.sampling.params import SamplingParams

_PARAMETERS = {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]}
NOW: dict[str, Any] = {"type": "function", "function": {"name": "now", "parameters": _PARAMETERS}}
# The model is random: the bias decides for a call instead of a thought, and for one call.
_BIAS = ((3 + ord("o"), 100.0), (2, 50.0))
CALLING = Settings(max_tokens=200, sampling=SamplingParams(temperature=0.0, logit_bias=_BIAS))
FORCED = replace(CALLING, sampling=replace(CALLING.sampling, grammar=tool_grammar(AnswerFormat(), (NOW,))))
"""Settings under which a model calls the tool that it has never learned to call."""


def answered(
    client: LocalClient, tools: Offer, settings: Settings = CALLING, messages: tuple[ChatMessage, ...] = HELLO
) -> list[Event]:
    return list(client.generate(Generate(messages, turn=3, seed=7, settings=settings, tools=tools)))


def prompt_tokens(events: list[Event]) -> int:
    (started,) = (event for event in events if isinstance(event, Started))
    tokens: int = started.line["prompt_tokens"]
    return tokens


def test_a_call_is_told_apart_from_the_rest_of_the_answer(loaded: LocalClient) -> None:
    ended = last_of(Ended, answered(loaded, Offer((NOW,)), FORCED))
    (call,) = ended.calls
    assert call.name == "now"
    assert json.loads(call.arguments)["x"] in ("a", "b")
    assert call.id == "call00300"
    assert "<tool_call>" in ended.text
    assert ended.content == ""


def test_an_answer_that_is_cut_short_has_no_calls(loaded: LocalClient) -> None:
    whole = last_of(Ended, answered(loaded, Offer((NOW,)), FORCED))
    length = whole.stats["num_tokens"] - len('"}}</tool_call>') - 1
    ended = last_of(Ended, answered(loaded, Offer((NOW,)), replace(FORCED, max_tokens=length)))
    assert ended.reason == "length"
    assert ended.calls == ()
    assert '"arguments": {' in ended.text


def test_calls_and_results_are_part_of_the_prompt(loaded: LocalClient) -> None:
    call = ToolCall("now", '{"x": "a"}', "call00000")
    talk = (*HELLO, ChatMessage("assistant", "", (call,)), ChatMessage("tool", "noon", (), "call00000", "now"))
    with_tools, without, alone = (
        prompt_tokens(answered(loaded, tools, SHORT, messages))
        for tools, messages in ((Offer((NOW,)), talk), (Offer(), talk), (Offer(), HELLO))
    )
    assert with_tools > without > alone


def test_without_tools_nothing_is_a_call(loaded: LocalClient) -> None:
    grammar = 'root ::= "<tool_call>{\\"name\\": \\"now\\", \\"arguments\\": {}}</tool_call>"'
    written = replace(CALLING, sampling=SamplingParams(grammar=grammar))
    events = answered(loaded, Offer(), written)
    assert text_of(events).startswith("<tool_call>")
    assert isinstance(events[-1], Ended)
    assert events[-1].calls == ()
    ended = last_of(Ended, answered(loaded, Offer((NOW,)), written))
    assert [call.name for call in ended.calls] == ["now"]
