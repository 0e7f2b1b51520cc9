"""The help of the built-in guide: which passage answers a message."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_assets.guide import PASSAGES, UNSURE, Index, Passage, features, find, quoting

CONVERSATION: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(
    (Path(__file__).parents[2] / "questions" / "conversation.toml").read_text("utf-8")
)


def found(message: str) -> str | None:
    passage = find(message)
    return None if passage is None else passage.id


@pytest.mark.parametrize(
    ("message", "passage"),
    [
        ("What is speculative decoding?", "speculative-decoding"),
        ("whats alpha", "alpha"),
        ("how do i quit", "specchat-stop-quit"),
        ("how can I change teh temperature?", "specchat-flag-temp"),
        ("fizzbuzz", "snippet-fizzbuzz"),
        ("Could you write a Python function that reverses a string, please?", "snippet-reverse-string"),
    ],
)
def test_a_question_finds_its_passage_also_with_typos(message: str, passage: str) -> None:
    assert found(message) == passage


@pytest.mark.parametrize(
    "message", ["What is the capital of France?", "who won the world cup", "Write a chess engine."]
)
def test_a_question_about_something_else_gets_the_passage_that_says_what_the_guide_can_do(message: str) -> None:
    passage = find(message)
    assert passage is not None
    assert passage.id == UNSURE
    assert "F1" in passage.text
    assert "`/help`" in passage.text


@pytest.mark.parametrize(
    "message",
    [
        "",
        "  \n",
        "Tell me a short story about a fox who finds a lamp.",
        "can you invent a bedtime tale with a wizard on a hill?",
        "Repeat this list without changes:\n- alpha\n- quit",
        "What is alpha? " * 40,
    ],
)
def test_tasks_and_texts_are_left_to_the_guide(message: str) -> None:
    assert found(message) is None


@pytest.mark.parametrize(
    ("message", "said"), [("hi", "Hello!"), ("thnaks a lot", "You are welcome."), ("bye", "Goodbye!")]
)
def test_small_talk_is_answered_with_the_same_words_each_time(message: str, said: str) -> None:
    passage = find(message)
    assert passage is not None
    assert passage.text.startswith(said)


@pytest.mark.parametrize("question", CONVERSATION["asked"])
def test_each_question_of_a_newcomers_conversation_finds_a_passage_that_answers_it(question: str) -> None:
    assert found(question) in CONVERSATION["asked"][question]


def test_a_greek_letter_is_found_by_its_name_and_case_and_punctuation_do_not_matter() -> None:
    for written, plain in (
        ("what is α?", "what is alpha?"),
        ("what is τ?", "what is tau?"),
        ("What is K?", "what is k"),
    ):
        assert features(written, 1 << 14) == features(plain, 1 << 14), written


@given(st.text(max_size=500))
def test_any_message_is_looked_up(message: str) -> None:
    passage = find(message)
    assert passage is None or passage.text


@given(st.text(max_size=200), st.integers(1, 1 << 16))
def test_features_are_buckets_without_repetition(message: str, buckets: int) -> None:
    rows = features(message, buckets)
    assert rows == sorted(set(rows))
    assert rows
    assert 0 <= rows[0] <= rows[-1] < buckets


def test_the_chances_of_all_labels_add_up_to_one() -> None:
    weights = np.array([[3, -3], [0, 1]], np.int8)
    index = Index(("one", "two"), weights, np.array([0.5, 2.0], np.float32), np.zeros(2, np.float32))
    chances = index.probabilities("a word")
    assert chances.sum() == pytest.approx(1.0)
    assert chances.shape == (2,)


def test_every_label_of_the_index_has_a_passage() -> None:
    shipped = {entry["id"] for entry in json.loads(PASSAGES.read_text("utf-8"))}
    labels = set(Index.load(PASSAGES.with_name("index.npz")).labels)
    assert labels - shipped == {"own"}
    assert shipped <= labels


def test_the_guide_gets_the_question_with_the_passage_at_its_end() -> None:
    passage = Passage("k", "k", "The number k.")
    assert quoting("what is k", passage).startswith("what is k\n")
    assert quoting("what is k", passage).endswith("The number k.")
