"""What a session has said before drafts what is said again, and decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_engine import Message, Round, SamplingParams, Session, TokenKind
from support.conversations import GREEDY, conversation, letters, saying

STORY = "once upon a time there was a fox, quick and brown."
QUESTION = Message("user", "tell me a story about a fox")


def drafted(rounds: Sequence[Round]) -> int:
    return sum(event.num_accepted for event in rounds if event.source == "lookup")


def answer(session: Session, *messages: Message, attempt: int = 0) -> list[Round]:
    return list(session.answer(messages, 0, attempt))


def test_an_answer_that_is_given_again_is_drafted_from_its_first_token_on() -> None:
    session = conversation(saying(STORY), drafter="lookup", k=8, sampling=GREEDY)
    first = answer(session, QUESTION)
    again = answer(session, QUESTION, attempt=1)
    assert session.text == STORY
    assert drafted(again) > 0.8 * len(STORY) > drafted(first)
    assert [event.num_accepted for event in again[:-1]] == [8] * (len(again) - 1)
    assert again[-1].token.kind is TokenKind.NONE, "its end is drafted too"


def test_what_another_conversation_said_is_drafted_from() -> None:
    session = conversation(saying(STORY), drafter="lookup", k=8, sampling=GREEDY)
    answer(session, QUESTION)
    rounds = answer(session, Message("user", "hi"), Message("assistant", "hello!"), Message("user", "go on"))
    assert session.text == STORY
    assert drafted(rounds) > 0.5 * len(STORY)


def test_only_the_conversation_is_searched_where_that_was_asked_for() -> None:
    session = conversation(saying(STORY), drafter="lookup", k=8, sampling=GREEDY, lookup="conversation")
    assert drafted(answer(session, QUESTION)) == drafted(answer(session, QUESTION, attempt=1))


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.lists(st.text("abc ", max_size=12), min_size=1, max_size=3), st.integers(0, 2)), max_size=4),
    st.sampled_from(["coupled", "rejection", "block"]),
    st.integers(0, 99),
)
def test_whatever_was_said_before_a_seed_says_the_same(
    before: list[tuple[list[str], int]], verifier: str, seed: int
) -> None:
    law, asked = letters(seed, end=-3), [Message("user", "abc abc")]
    fresh, old = (conversation(law, drafter="lookup", k=3, verifier=verifier, seed=seed) for _ in range(2))
    for texts, attempt in before:
        answer(old, *(Message("user", text) for text in texts), attempt=attempt)
    answer(fresh, *asked)
    answer(old, *asked)
    assert old.text == fresh.text


@pytest.mark.parametrize("verifier", ["rejection", "block"])
def test_where_the_text_depends_on_drafts_what_was_said_before_drafts_nothing(verifier: str) -> None:
    session = conversation(
        saying(STORY), drafter="lookup", k=8, verifier=verifier, sampling=SamplingParams(temperature=0.5)
    )
    first = answer(session, QUESTION)
    assert drafted(answer(session, QUESTION)) == drafted(first)
