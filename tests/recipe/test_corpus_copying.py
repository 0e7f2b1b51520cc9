"""The copy tasks of the corpus: the answers match the instructions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from builtin_pair import copying, snippets
from builtin_pair.copying_exercises import LONGEST_TEXT, Exercise, make_exercise, prose
from builtin_pair.copying_prompts import question_and_answer, wordings
from builtin_pair.library_texts import code_pieces, passages
from builtin_pair.material import Material
from builtin_pair.python_functions import listed_functions, local_names
from builtin_pair.sections import choose_words, read_sections

SEEDS = range(150)
TASK_NAMES = [task.name for task in copying.TASKS]


def exercises(name: str) -> Iterator[Exercise]:
    task = next(task for task in copying.TASKS if task.name == name)
    for seed in SEEDS:
        yield make_exercise(task, Material(Random(seed), read_sections("words.txt"), (seed % 11) / 10))


def items_of(text: str) -> list[str]:
    return re.split(r"\n|; |, ", re.sub(r"(?m)^- ", "", text))


def test_the_same_seed_gives_the_same_chats() -> None:
    assert list(islice(copying.chats(Random(7)), 200)) == list(islice(copying.chats(Random(7)), 200))
    assert copying.held_out(Random(7)) == copying.held_out(Random(7))


def test_prompts_are_never_repeated() -> None:
    prompts = [chat.turns[0].user for chat in islice(copying.chats(Random(1)), 2000)]
    assert len(set(prompts)) == len(prompts)


def test_the_easiest_tasks_use_short_texts_and_mostly_short_instructions() -> None:
    chats = list(islice(copying.chats(Random(2), hardness=0.0), 1000))
    asked = [chat.turns[0].user.split(":")[0] for chat in chats]
    assert sum(len(chat.turns[0].user) for chat in chats) / len(chats) < 120
    assert {"Repeat", "Sort", "Upper case", "List the email addresses", "Give the last line"} <= set(asked)
    assert len({wording for wording in asked if asked.count(wording) > 5}) < 20


def test_texts_grow_with_the_hardness() -> None:
    means = [
        sum(len(chat.turns[0].user) for chat in islice(copying.chats(Random(3), hardness), 1000))
        for hardness in (0.0, 0.3, 0.6, 1.0)
    ]
    assert means == sorted(means)


@pytest.mark.parametrize("name", TASK_NAMES)
def test_every_text_is_in_its_prompt_and_short_enough_and_asked_for_in_many_wordings(name: str) -> None:
    random = Random(name)
    for exercise in exercises(name):
        prompt, answer = question_and_answer(name, exercise, random)
        assert exercise.pasted.text in prompt
        assert len(exercise.pasted.text) <= LONGEST_TEXT
        assert all(value in prompt for value in exercise.quoted.values())
        assert answer.startswith("```") == answer.endswith("```") or name in ("repeat", "quote_line")
        assert answer.strip()
        assert not re.search(r"\{(ref|noun|ask)\}", prompt)
    asked = [wording.lower() for section in (name, f"{name} whole") for wording in wordings()[section]]
    assert len(asked) >= 85
    assert len(set(asked)) == len(asked)


def test_answers_are_fenced_exactly_when_pasted_code_is() -> None:
    for name in ("repeat", "rename", "first_lines", "last_lines"):
        for seed, exercise in enumerate(exercises(name)):
            prompt, answer = question_and_answer(name, exercise, Random(seed))
            tagged = exercise.pasted.language is not None and f"```{exercise.pasted.language}\n" in prompt
            assert answer.startswith("```") == tagged


def test_repeated_texts_are_unchanged_and_the_case_of_letters_is_changed_as_asked() -> None:
    for name in ("repeat", "repeat_list"):
        assert all(exercise.answer == exercise.pasted.text for exercise in exercises(name)), name
    assert all(exercise.answer == exercise.pasted.text.upper() for exercise in exercises("upper"))


def test_quoted_lines_are_the_only_ones_with_the_word_and_quoted_sentences_are_at_their_place() -> None:
    for exercise in exercises("quote_line"):
        lines = [line for line in exercise.pasted.text.split("\n") if exercise.quoted["word"] in line]
        assert [line.strip() for line in lines] == [exercise.answer]
    for exercise in exercises("quote_sentence"):
        before, _, after = exercise.pasted.text.partition(exercise.answer)
        assert {"first": before, "last": after}[exercise.plain["ordinal"]] == ""
        assert not re.search(r"[.!?] [A-Z]", exercise.answer)


def test_first_and_last_lines_come_from_the_right_end() -> None:
    for exercise in exercises("first_lines"):
        assert exercise.pasted.text.startswith(exercise.answer + "\n")
    for exercise in exercises("last_lines"):
        assert exercise.pasted.text.endswith("\n" + exercise.answer)


def test_renaming_changes_every_use_of_the_name_and_nothing_else() -> None:
    for exercise in exercises("rename"):
        old, new = exercise.quoted["old"], exercise.quoted["new"]
        assert not re.search(rf"\b{old}\b", exercise.answer)
        assert re.sub(rf"\b{new}\b", old, exercise.answer) == exercise.pasted.text


def test_replacing_changes_the_word_and_nothing_else() -> None:
    for exercise in exercises("replace"):
        old, new = exercise.quoted["old"], exercise.quoted["new"]
        assert old not in re.findall(r"\w+", exercise.answer)
        assert exercise.answer.replace(new, old) == exercise.pasted.text


def test_sorted_lists_keep_their_form() -> None:
    for exercise in exercises("sort_words"):
        assert items_of(exercise.answer) == sorted(items_of(exercise.pasted.text))
        assert exercise.answer.startswith("- ") == exercise.pasted.text.startswith("- ")


def test_everything_requested_is_extracted_in_order_and_values_belong_to_their_key() -> None:
    for exercise in exercises("emails"):
        assert re.findall(r"[\w.]+@[\w.]+\w", exercise.pasted.text) == exercise.answer.split("\n")
    for exercise in exercises("value"):
        key = re.escape(exercise.quoted["key"])
        found = re.findall(rf'(?m)^\s*"?{key}"?(?: =|:) "?(.*?)"?,?$', exercise.pasted.text)
        assert found == [exercise.answer]


def test_held_out_prompts_share_no_words_or_wordings_with_training() -> None:
    training, held = read_sections("words.txt"), read_sections("held_out/words.txt")
    for section in ("noun", "adjective", "first", "last", "city", "domain"):
        assert not set(training[section]) & set(held[section])
    trained = {
        choose_words(wording, Random(seed))
        for wordings_of in wordings().values()
        for wording in wordings_of
        for seed in range(20)
    }
    stems = {re.sub(r"\{\w+\}", "", wording).strip().lower() for wording in trained if len(wording) > 20}
    found = copying.held_out(Random(0))
    assert 90 <= len(found) <= 130
    assert not [held.prompt for held in found if any(stem in held.prompt.lower() for stem in stems if len(stem) > 20)]
    training_prompts = {chat.turns[0].user for chat in islice(copying.chats(Random(4)), 3000)}
    assert not training_prompts & {held.prompt for held in found}


def test_meaningful_texts_are_stories_and_passages_and_code_of_the_library() -> None:
    random = Random(9)
    sensible = Material(random, read_sections("words.txt"), length=3, natural=1)
    heroes = read_sections("story_words.txt")["hero"]
    stories = 0
    for _ in range(50):
        text = prose(sensible).text
        story = any(hero in text for hero in heroes)
        assert story or any(text.startswith(passage) for passage in passages())
        stories += story
        snippet = snippets.renamable_code(sensible)
        definition = ast.parse(snippet.text).body[0]
        assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        assert snippet.names
        assert set(snippet.names) <= set(local_names(snippet.text))
    assert 10 < stories < 40
    as_shipped = {*code_pieces(), *(one.code for one in listed_functions())}
    changed = sum(snippets.library(sensible).text not in as_shipped for _ in range(100))
    assert 30 < changed < 80


def test_no_random_number_is_drawn_if_texts_need_not_make_sense() -> None:
    material = Material(Random(3), read_sections("words.txt"))
    before = material.random.getstate()
    assert not material.makes_sense()
    assert material.random.getstate() == before


def test_the_names_of_a_function_are_its_parameters_and_variables() -> None:
    code = "def total(items, *more, start=0):\n    for item in items:\n        start += item.price\n    return start"
    assert local_names(code) == ["items", "more", "start", "item"]
