"""Token ids become text once, and the answer ends where a user would expect it to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.decoding.transcript import AnswerDecoder

END = 300
UNLIMITED = 10**6


def piece(token: int) -> bytes:
    return bytes((token,)) if token < 256 else b""


def transcript(stop: tuple[str, ...] = (), max_tokens: int = UNLIMITED, reason: str = "length") -> AnswerDecoder:
    return AnswerDecoder(piece, frozenset({END}), stop, max_tokens, limit_reason=reason)


def receive_all(subject: AnswerDecoder, tokens: Sequence[int], width: int) -> str | None:
    """Hands tokens over in rounds of some width, as the loop does; the reason for the end."""
    for start in range(0, len(tokens), width):
        kept, reason = subject.receive(tokens[start : start + width])
        if reason:
            return reason
        assert kept == len(tokens[start : start + width])
    return None


@given(st.binary(max_size=40), st.integers(1, 5))
def test_the_texts_joined_are_the_decoded_bytes(data: bytes, width: int) -> None:
    subject = transcript()
    assert receive_all(subject, [*data, END], width) == "end"
    assert subject.text == "".join(subject.texts) == data.decode("utf-8", "replace")
    assert len(subject.texts) == len(data) + 1


@given(st.text(max_size=20), st.integers(1, 7))
def test_a_character_of_several_tokens_comes_with_the_last_of_them(text: str, width: int) -> None:
    subject = transcript()
    receive_all(subject, list(text.encode("utf-8", "replace")), width)
    assert "".join(subject.texts) == text.encode("utf-8", "replace").decode()
    assert all(len(part) <= 1 for part in subject.texts)


def test_a_smiley_split_over_four_tokens_appears_once_and_whole() -> None:
    subject = transcript()
    subject.receive(list("😀!".encode()))
    assert subject.texts == ["", "", "", "😀", "!"]


def test_bytes_that_nothing_completes_show_as_a_replacement_when_the_answer_ends() -> None:
    subject = transcript()
    subject.receive([*b"ok", 0xE2, 0x82, END])
    assert subject.texts == ["o", "k", "", "", "�"]
    assert subject.text == "ok�"


def test_the_token_limit_also_shows_what_is_left() -> None:
    subject = transcript(max_tokens=2)
    assert subject.receive([0x41, 0xC3, 0xA4]) == (2, "length")
    assert (subject.text, subject.remaining) == ("A�", 0)


def test_the_limit_carries_its_own_reason() -> None:
    assert transcript(max_tokens=1, reason="context").receive([65]) == (1, "context")


def test_an_end_token_on_the_last_place_is_an_end_and_not_a_limit() -> None:
    assert transcript(max_tokens=1).receive([END]) == (1, "end")


@pytest.mark.parametrize("width", [1, 2, 3, 20])
def test_a_stop_string_is_found_across_tokens_and_cut_off(width: int) -> None:
    subject = transcript(stop=("STOP",))
    assert receive_all(subject, list(b"go on STOP here"), width) == "stop"
    assert subject.text == "go on "
    assert "".join(subject.texts) == "go on STOP"


def test_tokens_after_a_stop_string_are_not_kept() -> None:
    assert transcript(stop=("b",)).receive(list(b"abc")) == (2, "stop")


def test_the_stop_string_that_begins_first_wins() -> None:
    subject = transcript(stop=("cd", "bcd"))
    receive_all(subject, list(b"abcd"), 1)
    assert subject.text == "a"


def test_a_stop_string_may_follow_a_false_start() -> None:
    subject = transcript(stop=("aab",))
    assert receive_all(subject, list(b"aaab"), 1) == "stop"
    assert subject.text == "a"


def test_a_stop_string_of_several_bytes_a_character_is_found() -> None:
    subject = transcript(stop=("→",))
    assert receive_all(subject, list("so → there".encode()), 1) == "stop"
    assert subject.text == "so "


@given(st.text("ab\n", max_size=30), st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3), st.integers(1, 6))
def test_the_answer_ends_where_the_first_completed_stop_string_begins(text: str, stop: list[str], width: int) -> None:
    subject = transcript(stop=tuple(stop))
    reason = receive_all(subject, list(text.encode()), width)
    ends = [end for end in range(len(text) + 1) if text[:end].endswith(tuple(stop))] if stop else []
    if not ends:
        assert (reason, subject.text) == (None, text)
        return
    whole = text[: ends[0]]
    first = min(whole.find(string) for string in stop if string in whole)
    assert (reason, subject.text) == ("stop", text[:first])


def test_the_text_of_a_control_token_stays_out() -> None:
    subject = transcript()
    subject.receive([65, END])
    assert subject.text == "A"
