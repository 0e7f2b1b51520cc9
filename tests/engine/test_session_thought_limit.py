"""A thought may have a limit: then its closing mark is all that may follow, whatever the target would rather say."""

from __future__ import annotations

from typing import Any

import pytest

from specchat_engine import Message, SamplingParams, Session
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import parse_answer
from specchat_engine.decoding.rounds import Outcome
from specchat_engine.prompt.template import FALLBACK
from support.conversations import conversation, letters, saying

QUESTION = (Message("user", "hello"),)
LONG = "<think>" + "a" * 40 + "</think>bbbb"
OPENING = FALLBACK.replace("assistant\n", "assistant\n<think>")
WILD = SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0)
HARMONY = AnswerFormat("harmony")


def answered(session: Session, prefix: str = "") -> str:
    list(session.answer(QUESTION, 0, prefix=prefix))
    return session.text


def thought(session: Session, *, opened: bool = False) -> str:
    return parse_answer(session.text, session.pair.answer_format, thinking=opened).reasoning


@pytest.mark.parametrize("draft", [None, saying(LONG), letters()])
@pytest.mark.parametrize("limit", [1, 5, 39])
def test_a_thought_ends_at_its_limit_and_the_answer_goes_on(draft: Any, limit: int) -> None:
    session = conversation(saying(LONG), draft, think_tokens=limit, max_tokens=80)
    text = answered(session)
    assert text.startswith(f"<think>{'a' * limit}</think>")
    assert len(text) > len("<think></think>") + limit
    assert session.notices == [f"the thought was closed at its limit of {limit} tokens (think-tokens)"]


def test_the_closing_mark_is_drafted_since_nothing_else_may_follow() -> None:
    session = conversation(saying(LONG), drafter="grammar", k=8, think_tokens=5, max_tokens=40)
    rounds = list(session.answer(QUESTION, 0))
    drafted = [token.text for each in rounds if each.source == "grammar" for token in each.drafted]
    assert "".join(drafted) == "</think>"


@pytest.mark.parametrize("limit", [0, 60])
def test_a_thought_that_stays_below_its_limit_is_left_alone(limit: int) -> None:
    session = conversation(saying(LONG), saying(LONG), think_tokens=limit, max_tokens=80)
    assert answered(session) == LONG
    assert session.notices == []


def test_a_thought_that_the_prompt_opened_counts_from_its_first_token() -> None:
    session = conversation(saying("a" * 40 + "</think>bb"), template=OPENING, think_tokens=7)
    assert answered(session).startswith("aaaaaaa</think>")
    assert thought(session, opened=True) == "aaaaaaa"


def test_an_answer_without_a_thought_has_no_limit() -> None:
    session = conversation(saying("a" * 40), think_tokens=3)
    assert answered(session) == "a" * 40
    assert session.notices == []


@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block"])
@pytest.mark.parametrize("seed", range(6))
def test_drafts_do_not_change_the_text(seed: int, verifier: str) -> None:
    """With the coupled rule; with the others the limit holds, too."""

    def session(**changes: Any) -> Session:
        target, draft = letters(seed, end=-30.0), letters(seed + 1)
        return conversation(target, draft, template=OPENING, sampling=WILD, seed=seed, think_tokens=9, **changes)

    drafted, plain = session(verifier=verifier), session(k=0)
    answered(drafted)
    answered(plain)
    assert drafted.text.lstrip().index("</think>") == 9
    assert len(drafted.answer_ids) == 60
    assert drafted.stats.num_accepted_tokens > len("</think>")
    if verifier == "coupled":
        assert drafted.text == plain.text


def test_the_mark_that_is_forced_is_drafted_too() -> None:
    session = conversation(saying(LONG), saying(LONG), think_tokens=5, max_tokens=80)
    rounds = list(session.answer(QUESTION, 0))
    accepted = "".join(token.text for event in rounds for token in event.drafted if token.outcome is Outcome.ACCEPTED)
    assert "aaaa</" in accepted, "the draft model follows the limit, too"


def test_a_given_beginning_may_be_longer_than_the_limit() -> None:
    session = conversation(saying(LONG), think_tokens=3, max_tokens=80)
    assert answered(session, prefix="<think>aaaaaaaa").startswith("<think>aaaaaaaa</think>")


def test_a_grammar_comes_before_the_limit_and_holds_after_it() -> None:
    either = "<think>aaa</think>b\n<think>aaaaaa</think>b"
    for grammar, expected in ((either, "<think>aaa</think>b"), ("<think>aaaaaa</think>b",) * 2):
        session = conversation(saying(LONG), saying(LONG), think_tokens=3, sampling=SamplingParams(grammar=grammar))
        assert answered(session) == expected


def test_harmony_goes_on_with_its_final_message() -> None:
    text = "<|channel|>analysis<|message|>" + "a" * 40
    session = conversation(saying(text), answer_format=HARMONY, think_tokens=4, max_tokens=120)
    expected = "<|channel|>analysis<|message|>aaaa<|end|><|start|>assistant<|channel|>final<|message|>"
    assert answered(session).startswith(expected)
    assert thought(session) == "aaaa"


def test_an_old_answer_is_looked_at_under_the_same_limit() -> None:
    session = conversation(saying(LONG), think_tokens=5, max_tokens=80)
    answered(session)
    place = len("<think>") + 5
    assert [each.p for each in session.inspect(place).tokens if each.id == ord("<")] == [1.0]


def test_the_trace_names_the_limit_if_there_is_one() -> None:
    session = conversation(saying(LONG), think_tokens=5)
    answered(session)
    assert session.start_line()["params"]["think_tokens"] == 5
    free = conversation(saying(LONG))
    answered(free)
    assert "think_tokens" not in free.start_line()["params"]
