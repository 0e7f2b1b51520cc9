"""The corpus of Python functions, refusals and small talk."""

from __future__ import annotations

import ast
from itertools import islice
from random import Random

import pytest

from builtin_pair import other, python_library
from builtin_pair.chats import Chat, ChatSource
from builtin_pair.python_functions import MAX_LINES, described_functions, listed_functions
from builtin_pair.sections import roughen

SOURCES = pytest.mark.parametrize("source", [python_library.chats, other.chats], ids=["python", "other"])


def some(source: ChatSource, seed: int, count: int = 3000) -> list[Chat]:
    return list(islice(source(Random(seed)), count))


def test_the_number_of_functions_suits_the_size_of_the_model() -> None:
    lengths = sorted(one.code.count("\n") + 1 for one in listed_functions())
    assert 200 <= len(lengths) <= 300
    assert lengths[len(lengths) // 2] <= 8
    assert sum(len(one.answer) for one in listed_functions()) < 100_000
    assert 350 <= len(described_functions()) <= 600


def test_every_listed_function_parses_and_defines_its_name() -> None:
    for function in listed_functions():
        (definition,) = ast.parse(function.code).body
        assert isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)), function.name
        assert definition.name == function.name.rpartition(".")[2]
        assert ast.get_docstring(definition) is None, function.name
        assert function.code.count("\n") < MAX_LINES, function.name
        assert function.line in function.answer


def test_every_answer_is_plain_ascii_and_every_name_is_listed_once() -> None:
    functions = (*listed_functions(), *described_functions())
    assert all(one.answer.isascii() for one in functions)
    assert len({one.name for one in functions}) == len(functions)


def test_the_canonical_answers_pass_the_check_of_the_held_out_prompts() -> None:
    answers = {one.name: one.answer for one in listed_functions()}
    prompts = python_library.held_out(Random(5))
    assert len(prompts) == 200
    assert all(prompt.check(answers[prompt.name]).matches_signature for prompt in prompts)


def test_the_check_reports_how_far_a_wrong_answer_gets() -> None:
    prompt = python_library.CodePrompt("?", "bisect.insort", "(a, x)")
    assert not prompt.check("no code").parses
    assert not prompt.check("```python\ndef insort(:\n```").parses
    assert prompt.check("```python\ndef other(a, x):\n    pass\n```") == python_library.CodeCheck(True, False, False)
    assert prompt.check("```python\ndef insort(a):\n    pass\n```") == python_library.CodeCheck(True, True, False)
    assert prompt.check("```python\ndef insort(a, x):\n    pass\n```") == python_library.CodeCheck(True, True, True)


@SOURCES
def test_the_same_seed_gives_the_same_chats(source: ChatSource) -> None:
    assert some(source, 1, 400) == some(source, 1, 400)
    assert some(source, 1, 400) != some(source, 2, 400)


@SOURCES
def test_no_turn_is_empty_or_keeps_an_unfilled_slot(source: ChatSource) -> None:
    for chat in some(source, 3):
        for turn in chat.turns:
            assert turn.user.strip()
            assert turn.assistant.strip()
            assert turn.user.isascii()
            assert "{" not in turn.user


def test_training_never_uses_the_held_out_prompts() -> None:
    asked = {turn.user.lower().rstrip("?.!") for chat in some(python_library.chats, 7) for turn in chat.turns}
    asked |= {turn.user.lower().rstrip("?.!") for chat in some(other.chats, 7, 20_000) for turn in chat.turns}
    held_out = [prompt.prompt for prompt in python_library.held_out(Random(0))]
    refused = [exercise.question for exercise in other.held_out(Random(0))]
    assert len(set(refused)) == 60
    held_out += refused
    assert not asked & {prompt.lower().rstrip("?.!") for prompt in held_out}


def test_refusals_have_three_forms_and_thousands_of_questions() -> None:
    turns = [turn for chat in some(other.chats, 11, 10_000) for turn in chat.turns]
    refused = [turn for turn in turns if other.is_refusal(turn.assistant) and not turn.user.startswith("You asked")]
    assert {turn.assistant for turn in refused} == set(other.REFUSALS.values())
    assert len({turn.user for turn in refused}) > 4000
    assert not other.is_refusal("I know only the signature of this one.")


def test_a_request_for_the_last_answer_gets_an_exact_copy() -> None:
    chats = [chat for chat in some(other.chats, 13) if len(chat.turns) > 1]
    repeated = [chat for chat in chats if chat.turns[1].user.lower().startswith("repeat your last answer")]
    assert repeated
    assert all(chat.turns[1].assistant == chat.turns[0].assistant for chat in repeated)


def test_roughening_keeps_slots_unchanged() -> None:
    random = Random(0)
    assert all("{name}" in roughen("Show me {name}.", random) for _ in range(500))
