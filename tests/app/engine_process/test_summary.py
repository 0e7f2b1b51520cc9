"""A nearly full context: the oldest turns are summarised by the target, dropped, or end the conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.engine_process.conftest import load
from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import (
    ChatMessage,
    Ended,
    Event,
    Generate,
    Notice,
    Started,
    Summarised,
    TaskFailed,
)
from specchat.engine_process.summary import split, with_summary
from specchat_engine import Settings
from specchat_engine.sampling.params import SamplingParams
from support.tiny_models import TinyModels

SETTINGS = Settings(k=2, max_tokens=8, sampling=SamplingParams(temperature=0.8), context_full="summarise")


def conversation(turns: int, letters: int = 120, system: bool = True) -> tuple[ChatMessage, ...]:
    """A conversation that ends with a question."""
    said = [ChatMessage("system", "Be brief.")] if system else []
    for turn in range(turns):
        said += [ChatMessage("user", f"{turn} " * (letters // 2)), ChatMessage("assistant", "said " * (letters // 5))]
    return (*said, ChatMessage("user", "And now?"))


@pytest.fixture
def small(client: LocalClient, tiny_models: TinyModels) -> LocalClient:
    load(client, tiny_models, n_ctx=1024)
    return client


def answered(client: LocalClient, messages: tuple[ChatMessage, ...], settings: Settings = SETTINGS) -> list[Event]:
    return list(client.generate(Generate(messages, turn=4, seed=7, settings=settings)))


def notices(events: list[Event]) -> str:
    return " ".join(event.text for event in events if isinstance(event, Notice))


def test_the_oldest_turns_are_summarised_and_the_answer_is_that_to_the_summary(small: LocalClient) -> None:
    messages = conversation(4)
    events = answered(small, messages)
    (summarised,) = (event for event in events if isinstance(event, Summarised))
    assert summarised.num_messages == 6
    assert summarised.text.strip() == summarised.text != ""
    assert "the model summarises the oldest turns first" in notices(events)
    assert "dropped" not in notices(events)
    system = with_summary("Be brief.", summarised.text)
    (started,) = (event for event in events if isinstance(event, Started))
    assert [message["content"] for message in started.line["messages"]] == [
        system,
        *(message.content for message in messages[-3:]),
    ]
    assert started.line["params"]["temperature"] == pytest.approx(0.8)
    again = answered(small, (ChatMessage("system", system), *messages[-3:]))
    assert not any(isinstance(event, Summarised) for event in again)
    assert isinstance(events[-1], Ended)
    assert isinstance(again[-1], Ended)
    assert events[-1].text == again[-1].text


def test_nothing_is_summarised_while_there_is_room(small: LocalClient) -> None:
    events = answered(small, conversation(1))
    assert not any(isinstance(event, Summarised | Notice) for event in events)


def test_otherwise_the_oldest_turns_are_dropped_or_the_conversation_stops(small: LocalClient) -> None:
    dropped = answered(small, conversation(4), replace(SETTINGS, context_full="drop"))
    assert "oldest turn" in notices(dropped)
    assert not any(isinstance(event, Summarised) for event in dropped)
    stopped = answered(small, conversation(5), replace(SETTINGS, context_full="stop"))
    assert isinstance(stopped[-1], TaskFailed)
    assert "set context-full to drop or summarise" in stopped[-1].message
    assert isinstance(answered(small, conversation(1), replace(SETTINGS, context_full="stop"))[-1], Ended)


@pytest.mark.parametrize(("turns", "older"), [(0, 0), (1, 0), (2, 2), (3, 4)])
def test_the_last_exchange_and_the_question_stay(turns: int, older: int) -> None:
    messages = conversation(turns)
    first, latest = split(messages)
    assert len(first) == older
    assert (*first, *latest) == messages[1:]


def test_a_summary_follows_the_system_message_if_there_is_one() -> None:
    assert with_summary(None, "said") == "Summary of the conversation so far:\nsaid"
    assert with_summary("Be brief.", "said") == "Be brief.\n\nSummary of the conversation so far:\nsaid"
