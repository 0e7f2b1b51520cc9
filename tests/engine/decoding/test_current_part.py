"""Thoughts may have a lossy rule of their own; the answer after them keeps its lossless one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine import Message, Prompt, Round, SamplingParams, Session, Settings
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.decoding.rounds import Outcome, TokenKind
from specchat_engine.prompt.template import FALLBACK
from specchat_engine.testing import Law
from support.conversations import N_VOCAB, conversation, saying

THOUGHT, ANSWER = "<think>aaaaaaaa</think>", "aaaaaaaa"
QUESTION = (Message("user", "hello"),)
OPENING = FALLBACK.replace("assistant\n", "assistant\n<think>")


def doubting(text: str, other: str = "b", doubt: float = 0.4) -> Law:
    """A law that says a text, but with some probability another letter in place of each "a"."""
    certain = saying(text)

    def spoken(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = certain(tokens)
        if row.argmax() == ord("a"):
            row = np.full(N_VOCAB, -30.0, dtype=np.float32)
            row[ord("a")], row[ord(other)] = np.log(1 - doubt), np.log(doubt)
        return row

    return spoken


def rounds(thought_verifier: str, *, k: int = 4, template: str = FALLBACK, **given: Any) -> tuple[Session, list[Round]]:
    """An answer whose draft always says what the target doubts."""
    text = given.pop("text", THOUGHT + ANSWER)
    session = conversation(
        doubting(text, doubt=given.pop("doubt", 0.4)),
        doubting(text, doubt=0.999),
        template=template,
        k=k,
        thought_verifier=thought_verifier,
        sampling=SamplingParams(temperature=1.0, top_k=0, top_p=1.0, min_p=0.0),
        **given,
    )
    return session, list(session.answer(QUESTION, 0))


def split_at(session: Session, events: list[Round], closing: str = "</think>") -> tuple[list[Round], list[Round]]:
    """The rounds up to the one with the closing tag, and those after it."""
    said = ""
    for place, event in enumerate(events):
        said += event.text
        if closing in said:
            return events[: place + 1], events[place + 1 :]
    raise AssertionError(session.text)


def rejected(events: list[Round]) -> int:
    return sum(token.outcome is Outcome.REJECTED for event in events for token in event.drafted)


def test_the_thought_is_verified_by_its_rule_and_the_answer_by_its_own() -> None:
    session, events = rounds("typical")
    thought, answer = split_at(session, events)
    opened = split_at(session, events, "<think>")[0][-1].index
    assert {event.verifier for event in thought[: opened + 1]} == {"coupled"}, "the tag itself is not a thought yet"
    assert {event.verifier for event in thought[opened + 1 :] if event.drafted} == {"typical"}
    assert {event.verifier for event in answer if event.drafted} == {"coupled"}
    assert not rejected(thought[opened + 1 :]), "a token of p 0.4 is typical"
    assert rejected(answer)
    strict, events = rounds("same")
    assert rejected(split_at(strict, events)[0])


def test_a_round_without_a_draft_names_no_rule() -> None:
    _, events = rounds("typical", k=0)
    assert {event.verifier for event in events} == {""}


@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("template", [FALLBACK, OPENING])
def test_no_token_of_the_answer_is_judged_by_the_rule_of_the_thought(k: int, template: str) -> None:
    for seed in range(8):
        session, events = rounds("typical", k=k, template=template, seed=seed)
        said = ""
        for event in events:
            for token in event.drafted:
                if event.verifier == "typical" and "</think>" in said:
                    assert token.outcome is Outcome.DISCARDED
                said += token.text if token.outcome is Outcome.ACCEPTED else ""
            said += event.token.text
        assert said == session.text


def test_the_round_that_closes_the_thought_ends_with_the_targets_own_token() -> None:
    session, events = rounds("typical", k=16)
    closing = split_at(session, events)[0][-1]
    assert closing.token.kind is TokenKind.BONUS
    assert len(closing.drafted) > closing.num_accepted


@pytest.mark.parametrize("verifier", ["coupled", "rejection", "block"])
def test_the_answer_after_the_thought_is_distributed_like_the_targets(verifier: str) -> None:
    doubts = letters = 0
    for seed in range(30):
        session, _ = rounds("typical", verifier=verifier, seed=seed, doubt=0.3, max_tokens=100)
        answer = session.text.partition("</think>")[2]
        doubts += answer.count("b")
        letters += len(answer)
    assert letters == 30 * len(ANSWER)
    assert abs(doubts / letters - 0.3) < 5 * (0.3 * 0.7 / letters) ** 0.5


def test_the_answer_to_a_thought_is_the_targets_own_draw() -> None:
    """Given the thought, the text is that of plain decoding with the same seed."""
    session, events = rounds("typical", seed=5)
    said = sum(event.num_emitted for event in split_at(session, events)[0])
    plain = conversation(
        doubting(THOUGHT + ANSWER), seed=5, sampling=session.settings.sampling, k=0, thought_verifier="same"
    )
    for _ in plain.answer(QUESTION, 0, prefix=session.answer_ids[:said]):
        pass
    assert plain.text == session.text


def test_a_model_that_does_not_think_is_answered_losslessly() -> None:
    session, events = rounds("typical", text=ANSWER)
    same, _ = rounds("same", text=ANSWER)
    assert session.text == same.text
    assert {event.verifier for event in events if event.drafted} == {"coupled"}


def test_the_rule_changes_while_the_thought_is_open() -> None:
    session = conversation(saying(THOUGHT + ANSWER), saying(THOUGHT + ANSWER), k=2)
    names = []
    for place, event in enumerate(session.answer(QUESTION, 0)):
        names.append(event.verifier)
        if place == 4:
            session.settings = replace(session.settings, thought_verifier="typical")
    assert names[:5] == ["coupled"] * 5
    assert names[5] == "typical"
    assert names[-1] == "coupled"


def test_a_branch_that_begins_inside_the_thought_is_inside_it() -> None:
    session = conversation(saying(THOUGHT + ANSWER), saying(THOUGHT + ANSWER), k=2, thought_verifier="typical")
    events = list(session.answer(QUESTION, 0, prefix=tuple(b"<think>aa")))
    assert events[0].verifier == "typical"
    assert events[-1].verifier == "coupled"


def test_the_trace_names_the_rule_and_is_not_lossless() -> None:
    session, _ = rounds("typical")
    start = session.start_line()
    assert (start["verifier"], start["thought_verifier"], start["lossless"]) == ("coupled", "typical", False)
    same, _ = rounds("same")
    assert same.start_line()["lossless"] is True
    assert "thought_verifier" not in same.start_line()


def test_with_a_fixed_k_a_seed_repeats_the_text_whatever_was_said_before() -> None:
    fresh, _ = rounds("typical", drafter="hybrid", seed=9)
    session, _ = rounds("typical", drafter="hybrid", seed=9)
    for _ in session.answer(QUESTION, 0):
        pass
    assert session.text == fresh.text


def test_harmony_thinks_in_its_channel_of_analysis() -> None:
    text = "<|channel|>analysis<|message|>aaaa<|end|><|start|>assistant<|channel|>final<|message|>aaaa"
    session = conversation(
        saying(text), saying(text), k=2, thought_verifier="typical", answer_format=AnswerFormat("harmony")
    )
    events = list(session.answer(Prompt(QUESTION), 0))
    before, after = split_at(session, events, "<|end|>")
    said = "".join(event.text for event in events if event.verifier == "typical")
    assert said.startswith("aaaa<|end|>")
    assert len(before) > 1
    assert {event.verifier for event in after if event.drafted} == {"coupled"}


def test_settings_are_lossless_only_if_both_rules_are() -> None:
    assert Settings().lossless
    assert not Settings(verifier="typical").lossless
    assert not Settings(thought_verifier="typical").lossless
