"""What is learned of drafts in thoughts and calls does not stand for answers, and the other way round."""

from __future__ import annotations

from typing import Any

from specchat_engine import Message, Prompt, Session
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.testing import Law
from support.controllers import Watched, knowing
from support.conversations import GREEDY, conversation, saying

QUESTION = [Message("user", "What is the weather like today?")]
THOUGHT, ANSWER = "<think>" + 9 * "thinking " + "</think>", 9 * "answering "
CALL = '<tool_call>{"name": "weather", "arguments": {"city": "' + 30 * "Oslo " + '"}}</tool_call>'
TOOLS = ({"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},)


def differing(text: str, right: str) -> Law:
    """A law that says a text, but something else outside of one part of it."""
    begin = text.index(right)
    return saying("".join(char if begin <= place < begin + len(right) else "#" for place, char in enumerate(text)))


def answered(text: str, right: str, asked: Any = QUESTION, **given: Any) -> tuple[Session, Watched]:
    """An answer whose draft is right in one part of it."""
    controller = knowing(0.02, 0.02)
    given = {"drafter": "model", "k": "auto", "sampling": GREEDY, "max_tokens": 0} | given
    session = conversation(saying(text), differing(text, right), controller=controller, **given)
    for _ in session.answer(asked, 0):
        pass
    return session, controller


def share(controller: Watched, kind: str) -> float:
    shares = controller.acceptance.of(kind, "model", "confidence")
    return shares.accepted / shares.tested


def test_a_draft_that_knows_the_thought_is_known_to_be_wrong_in_the_answer() -> None:
    _, controller = answered(THOUGHT + ANSWER, THOUGHT)
    assert controller.kinds == ["prose", "thoughts", "prose"]
    assert share(controller, "thoughts") > 0.95
    assert share(controller, "prose") < 0.6


def test_a_draft_that_knows_the_answer_is_not_blamed_for_the_thought() -> None:
    _, controller = answered(THOUGHT + ANSWER, ANSWER)
    assert share(controller, "prose") > 0.8
    assert share(controller, "thoughts") < 0.2


def test_calls_are_a_kind_of_their_own_once_they_have_begun() -> None:
    text = ANSWER + CALL
    _, controller = answered(text, CALL, Prompt(QUESTION, TOOLS))
    assert controller.kinds == ["prose", "calls"]
    assert share(controller, "calls") > 0.9


def test_without_tools_what_looks_like_a_call_is_none() -> None:
    _, controller = answered(ANSWER + CALL, CALL)
    assert controller.kinds == ["prose"]


def test_a_call_in_harmony_is_a_call_and_its_thought_a_thought() -> None:
    text = (
        "<|channel|>analysis<|message|>" + THOUGHT[7:-8] + "<|end|><|start|>assistant<|channel|>commentary "
        'to=functions.weather <|constrain|>json<|message|>{"city": "' + 30 * "Oslo " + '"}'
    )
    _, controller = answered(text, text, Prompt(QUESTION, TOOLS), answer_format=AnswerFormat("harmony"))
    assert controller.kinds == ["prose", "thoughts", "prose", "calls"]


def test_the_text_does_not_depend_on_the_kinds() -> None:
    session, _ = answered(THOUGHT + ANSWER, THOUGHT)
    assert session.text == THOUGHT + ANSWER


def test_what_was_learned_of_thoughts_is_kept_for_the_next_start() -> None:
    _, controller = answered(THOUGHT + ANSWER, THOUGHT)
    assert {"thoughts", "prose"} <= controller.acceptance.to_json().keys()
