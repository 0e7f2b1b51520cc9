"""The facts that the built-in guide knows, and the held-out questions about them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from random import Random

from builtin_pair import facts

HELD_OUT = Path(facts.__file__).parent / "data" / "held_out" / "facts.toml"


def test_there_are_at_least_150_facts_of_40_wordings_whose_answers_hold_the_key() -> None:
    facts_of_guide = facts.load_facts()
    assert len(facts_of_guide) >= 150
    for fact in facts_of_guide:
        random = Random(1)
        assert len({facts.ask(fact, random) for _ in range(400)}) >= 40, fact.id
        assert fact.held_by(fact.answer), fact.id
        assert fact.held_by(fact.short), fact.id
        assert len(fact.short) < len(fact.answer), fact.id


def test_no_answer_fits_another_fact() -> None:
    answers = [fact.answer for fact in facts.load_facts()]
    assert len(set(answers)) == len(answers)


def test_no_question_belongs_to_two_facts() -> None:
    seen: dict[str, str] = {}
    for fact in facts.load_facts():
        for question in facts.plain_questions(fact):
            assert seen.setdefault(question.lower().strip(" ?.!"), fact.id) == fact.id


def test_chats_depend_only_on_the_seed() -> None:
    first, second = facts.chats(Random(5)), facts.chats(Random(5))
    assert [next(first) for _ in range(300)] == [next(second) for _ in range(300)]


def test_the_held_out_questions_name_facts_that_exist() -> None:
    questions = tomllib.loads(HELD_OUT.read_text("utf-8"))["question"]
    assert len(questions) >= 300
    assert {question["fact"] for question in questions} <= {fact.id for fact in facts.load_facts()}
