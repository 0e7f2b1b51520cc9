"""The passages of the help and what its search learns from."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from builtin_pair import facts, help_search, quoting
from builtin_pair.help_search import Example
from specchat_assets.guide import OWN, PASSAGES, is_question


def test_the_shipped_passages_are_the_facts_of_the_recipe() -> None:
    assert PASSAGES.read_text("utf-8") == help_search.passages_text()


@pytest.fixture(scope="module")
def examples() -> Sequence[Example]:
    return help_search.examples(1)


def test_every_passage_and_tasks_have_examples_that_depend_only_on_the_seed(examples: Sequence[Example]) -> None:
    counted = Counter(label for _, label in examples)
    assert set(counted) == {passage.id for passage in help_search.passages()} | {OWN}
    assert min(counted.values()) >= 100
    assert help_search.examples(1) == examples


def test_no_remark_is_a_question_about_a_fact(examples: Sequence[Example]) -> None:
    asked = {question.lower() for fact in facts.load_facts() for question in fact.questions}
    remarks = {text.lower() for text, label in examples if label == OWN}
    assert not asked & remarks


def test_the_search_learns_from_none_of_the_questions_that_judge_it(examples: Sequence[Example]) -> None:
    list_of_questions = Path(__file__).parents[1] / "questions" / "conversation.toml"
    unseen = {text.lower().strip(" ?.!") for text in tomllib.loads(list_of_questions.read_text("utf-8"))["unseen"]}
    assert not unseen & {text.lower().strip(" ?.!") for text, _ in examples}


def test_a_question_about_the_apps_subject_is_also_learned_as_it_is_asked_in_a_conversation(
    examples: Sequence[Example],
) -> None:
    learned = [text for text, label in examples if label == "why-two-models"]
    assert any(re.search(r"is (it|this|that) faster if two models have to run", text) for text in learned)


def test_the_lesson_asks_for_the_passage_word_for_word() -> None:
    passages = {passage.text for passage in help_search.passages()}
    known = 0
    for chat in islice(quoting.chats(Random(1)), 300):
        turn = chat.turns[-1]
        assert turn.user.endswith(f"Repeat this text:\n\n{turn.assistant}")
        assert is_question(turn.user.split("\n\nRepeat this text:")[0])
        known += turn.assistant in passages
    assert 200 < known < 290
