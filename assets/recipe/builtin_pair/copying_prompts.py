"""Puts an exercise into words: an instruction in one of many wordings, before or after the pasted text."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from builtin_pair.copying_exercises import Exercise, Pasted
from builtin_pair.sections import Sections, capitalised, choose_words, fill_slots, read_sections

WORDINGS = "copy_wordings.txt"
_NEVER_POLITE = ("what", "which", "who", "in ", "from ", "with ", "one ", "a ", "{")


def question_and_answer(name: str, exercise: Exercise, random: Random) -> tuple[str, str]:
    """The prompt for an exercise of the task `name`, and its answer, fenced where the pasted code is."""
    wordings = read_sections(WORDINGS)
    fenced = random.random() < _share_fenced(exercise.pasted)
    block = fence(exercise.pasted.text, exercise.pasted.language) if fenced else exercise.pasted.text
    one_line = "\n" not in block
    if one_line and '"' not in block and random.random() < 0.3:
        block = f'"{block}"'
    wording = choose_words(random.choice(wordings[name]), random)
    if random.random() < 0.65:
        instruction = _instruction(wording, exercise, random, wordings, "after")
        end = random.choice((":", ":", ":", "?" if _asks(instruction) else ".", ""))
        gap = random.choice((" ", " ", "\n", "\n\n") if one_line and end == ":" else ("\n", "\n\n"))
        prompt = f"{instruction}{end}{gap}{block}"
    else:
        instruction = _instruction(wording, exercise, random, wordings, "before")
        end = "?" if _asks(instruction) else random.choice((".", ".", "", ":"))
        prompt = f"{block}\n\n{instruction}{end}"
    return prompt, final_answer(exercise, fenced)


def final_answer(exercise: Exercise, fenced: bool) -> str:
    """The answer, in a fence when it is code and the pasted code was in one."""
    if fenced and exercise.pasted.language and exercise.answer_language:
        return fence(exercise.answer, exercise.answer_language)
    return exercise.answer


def fence(text: str, language: str | None) -> str:
    """The text between lines of three backticks, the first of them naming the language."""
    return f"```{language or ''}\n{text}\n```"


def quote_values(exercise: Exercise, random: Random) -> dict[str, str]:
    """The values of all slots of an instruction, those that must be told from its words in quotes of one sort."""
    together = " ".join(exercise.quoted.values())
    marks = [mark for mark in ('"', '"', "'", "`") if mark not in together]
    if all(" " not in value for value in exercise.quoted.values()):
        marks.append("")
    mark = random.choice(marks or [""])
    return {**exercise.plain, **{slot: f"{mark}{value}{mark}" for slot, value in exercise.quoted.items()}}


def _instruction(wording: str, exercise: Exercise, random: Random, wordings: Sections, side: str) -> str:
    noun = exercise.pasted.noun
    plural = noun.endswith("s") and not noun.endswith("ss")
    reference = choose_words(random.choice(wordings[f"{side}_plural" if plural else side]), random)
    if not wording.startswith(_NEVER_POLITE):
        polite = choose_words(random.choice(wordings["polite"]), random)
        wording = fill_slots(polite, {"ask": wording})
    wording = wording.replace("{ref}", fill_slots(reference, {"noun": noun}))
    change: Callable[[str], str] = capitalised if random.random() < 0.85 and not wording.startswith("{") else str
    return fill_slots(change(wording), quote_values(exercise, random))


def _asks(instruction: str) -> bool:
    return instruction.lower().startswith(("what", "which", "who", "can you", "could you", "would you", "will you"))


def _share_fenced(pasted: Pasted) -> float:
    if pasted.language:
        return 0.65
    return 0.15 if "\n" in pasted.text else 0.04
