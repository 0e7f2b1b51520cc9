"""The facts that the built-in guide knows, and the held-out questions about them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

import pytest

from builtin_pair import facts
from builtin_pair.facts import Fact

HELD_OUT = Path(facts.__file__).parent / "data" / "held_out" / "facts.toml"
ALL = facts.load_facts()


def test_there_are_at_least_150_facts() -> None:
    assert len(ALL) >= 150


@pytest.mark.parametrize("fact", ALL, ids=lambda fact: fact.id)
def test_a_fact_has_40_wordings_and_its_answer_holds_the_key(fact: Fact) -> None:
    random = Random(1)
    assert len({facts.ask(fact, random) for _ in range(400)}) >= 40
    assert fact.held_by(fact.answer)
    assert fact.held_by(fact.short)
    assert len(fact.short) < len(fact.answer)


def test_no_answer_fits_another_fact() -> None:
    by_answer = {fact.answer: fact.id for fact in ALL}
    assert len(by_answer) == len(ALL)


def test_no_question_belongs_to_two_facts() -> None:
    seen: dict[str, str] = {}
    for fact in ALL:
        for question in facts.plain_questions(fact):
            assert seen.setdefault(question.lower().strip(" ?.!"), fact.id) == fact.id


def test_chats_depend_only_on_the_seed() -> None:
    first, second = facts.chats(Random(5)), facts.chats(Random(5))
    assert [next(first) for _ in range(300)] == [next(second) for _ in range(300)]


def test_the_held_out_questions_name_facts_that_exist() -> None:
    questions = tomllib.loads(HELD_OUT.read_text("utf-8"))["question"]
    assert len(questions) >= 300
    assert {question["fact"] for question in questions} <= {fact.id for fact in ALL}
