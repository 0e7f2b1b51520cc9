"""Chats in which a pasted text is repeated, quoted, edited, sorted or searched. The text is new each time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from builtin_pair.chats import Chat, HeldOut, Turn, single
from builtin_pair.copying_edits import EDITS, LISTS
from builtin_pair.copying_exercises import Exercise, Task, make_exercise
from builtin_pair.copying_prompts import (
    bare_question_and_answer,
    final_answer,
    question_and_answer,
    quote_values,
    wordings,
)
from builtin_pair.material import Material
from builtin_pair.sections import choose_words, fill_slots, read_sections

TASKS: tuple[Task, ...] = (*EDITS, *LISTS)

LONG_SHARES = {"repeat": 8, "repeat_list": 3, "rename": 6, "replace": 4}
LONGEST = 3.5
NATURAL = 0.6
_SHORT, _SHORT_CHANCE = 120, 0.35

_BARE_SHARE = 0.75
"""The share of the easiest chats that use the shortest wording."""

_FENCED = re.compile(r"(```\w*\n)(.*)(\n```)", re.DOTALL)


def long_chats(random: Random) -> Iterator[Chat]:
    """Endless copy tasks whose answers are whole texts, up to `LONGEST` times as long as the others."""
    tasks = [task for task in TASKS if task.name in LONG_SHARES]
    weights = [LONG_SHARES[task.name] for task in tasks]
    words = read_sections("words.txt")
    while True:
        task = random.choices(tasks, weights)[0]
        material = Material(random, words, random.uniform(0.4, 1), random.uniform(1, LONGEST), NATURAL)
        exercise = make_exercise(task, material)
        if len(exercise.answer) >= _SHORT or random.random() < _SHORT_CHANCE:
            yield single("copy", *question_and_answer(task.name, exercise, random))


def chats(random: Random, hardness: float = 1.0) -> Iterator[Chat]:
    """Endless copy tasks. `hardness` in [0, 1] scales lengths and the share of random identifiers.

    All tasks occur at every hardness: a model learns what a task means soonest on the shortest texts.
    """
    material = Material(random, read_sections("words.txt"), hardness)
    weights = [task.weight for task in TASKS]
    while True:
        task = random.choices(TASKS, weights)[0]
        exercise = make_exercise(task, material)
        bare = random.random() < _BARE_SHARE * (1 - hardness)
        ask = bare_question_and_answer if bare else question_and_answer
        prompt, answer = ask(task.name, exercise, random)
        turns = [Turn(prompt, answer)]
        if not bare and random.random() < 0.15 * hardness:
            turns.extend(_follow_up(task, exercise, answer, random))
        yield Chat("copy", tuple(turns))


def held_out(random: Random) -> list[HeldOut]:
    """One exercise for each hand-written wording, with words that are not in the training lists."""
    material = Material(random, read_sections("held_out/words.txt"), 0.7)
    found: list[HeldOut] = []
    for task in TASKS:
        for wording in read_sections("held_out/copy.txt")[task.name]:
            exercise = make_exercise(task, material)
            fenced = exercise.pasted.language is not None and "```{language}" in wording
            pasted = {"text": exercise.pasted.text, "language": exercise.pasted.language or ""}
            values = {**quote_values(exercise, random), **pasted}
            prompt = fill_slots(wording.replace("\\n", "\n"), values)
            found.append(HeldOut("copy", prompt, final_answer(exercise, fenced)))
    return found


def _follow_up(task: Task, exercise: Exercise, answer: str, random: Random) -> list[Turn]:
    """A second request that works on the first answer, or None if nothing fits."""
    match = _FENCED.fullmatch(answer)
    before, body, after = match.groups() if match else ("", answer, "")
    lines = body.split("\n")
    results = {"then_again": answer}
    if not match and exercise.answer_language is None:
        results["then_upper"] = body.upper()
    if len(lines) > 1:
        results["then_first"] = f"{before}{lines[0]}{after}"
    if task.name == "repeat_list":
        results |= _sorted(body)
    name = random.choice(list(results))
    wording = choose_words(random.choice(wordings()[name]), random)
    return [Turn(wording[0].upper() + wording[1:] if random.random() < 0.7 else wording, results[name])]


def _sorted(body: str) -> dict[str, str]:
    between = "\n" if "\n" in body else ", "
    items = body.split(between)
    if len(items) > 6 or not all(re.fullmatch(r"(- )?[A-Za-z][a-z]+", item) for item in items):
        return {}
    return {"then_sort": between.join(sorted(items, key=str.lower))}
