"""The oldest turns go first, the system message stays, and it is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import ContextOverflowError, Message
from specchat_engine.prompt.context_fit import fit


def encode(messages: Sequence[Message]) -> list[int]:
    return [ord(message.role[0]) for message in messages for _ in message.content]


def conversation(*lengths: int) -> list[Message]:
    """A system message of 10 tokens, then questions and answers of these lengths in turn."""
    roles = ("user", "assistant")
    return [
        Message("system", "s" * 10),
        *(Message(roles[place % 2], "x" * length) for place, length in enumerate(lengths)),  # type: ignore[arg-type]
    ]


def test_a_conversation_that_fits_is_left_alone() -> None:
    fitted = fit(conversation(10, 10, 10), encode, 100)
    assert (len(fitted.tokens), fitted.dropped) == (40, 0)


def test_the_oldest_turns_go_whole_and_the_system_message_stays() -> None:
    fitted = fit(conversation(30, 20, 5, 5, 20), encode, 100)
    assert bytes(fitted.tokens) == b"s" * 10 + b"u" * 5 + b"a" * 5 + b"u" * 20
    assert fitted.dropped == 1
    assert fitted.notice(100) == "dropped the oldest turn to fit the context of 100 tokens"


def test_the_notice_counts_the_turns() -> None:
    fitted = fit(conversation(30, 20, 20, 20, 20), encode, 60)
    assert fitted.notice(60) == "dropped the 2 oldest turns to fit the context of 60 tokens"


def test_a_quarter_of_the_context_is_kept_for_the_answer_while_turns_can_go() -> None:
    assert fit(conversation(20, 20, 30), encode, 100).dropped == 1


def test_a_long_last_message_may_use_that_quarter() -> None:
    assert len(fit(conversation(80), encode, 100).tokens) == 90


@pytest.mark.parametrize("length", [90, 91, 500])
def test_a_message_that_leaves_no_room_for_a_token_is_rejected(length: int) -> None:
    with pytest.raises(ContextOverflowError, match=f"prompt of {length + 10} tokens, the context holds 100") as caught:
        fit(conversation(5, 5, length), encode, 100)
    assert "\n" not in str(caught.value)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=9).filter(lambda lengths: len(lengths) % 2))
def test_what_is_kept_fits_and_ends_with_the_last_message(lengths: list[int]) -> None:
    fitted = fit(conversation(*lengths), encode, 100)
    assert 10 + lengths[-1] <= len(fitted.tokens) < 100
    assert fitted.dropped <= len(lengths) // 2
    assert bytes(fitted.tokens).startswith(b"s" * 10 + b"u")
