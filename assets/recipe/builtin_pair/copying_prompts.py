"""Puts an exercise into words: an instruction in one of many wordings, before or after the pasted text."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from types import MappingProxyType

from builtin_pair.copying_exercises import Exercise, Pasted
from builtin_pair.sections import Sections, capitalised, choose_words, fill_slots, read_sections

FILES = ("copy_wordings.txt", "copy_edit_wordings.txt", "copy_list_wordings.txt")

_QUESTION = re.compile(
    r"(^|, )(what|which|who|whose|where|how|(can|could|would|will|do) (you|u)|(can|could|may) I"
    r"|are (you|there)|is (it|there))\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(r"\{(?!ref)\w+\}$")
_BARE = MappingProxyType(
    {
        "repeat": "Repeat",
        "repeat_list": "Repeat the list",
        "quote_sentence": "Give the {ordinal} sentence",
        "quote_line": "Give the line with {word}",
        "first_lines": "Give the first {lines}",
        "last_lines": "Give the last {lines}",
        "rename": "Rename {old} to {new}",
        "replace": "Replace {old} with {new}",
        "upper": "Upper case",
        "sort_words": "Sort",
        "emails": "List the email addresses",
        "value": "Give the value of {key}",
    }
)
"""Each task in the fewest words. With a fixed wording, its meaning is learned soonest."""

_COLON, _STOP, _NOTHING = ":", ".", ""


@cache
def wordings() -> Sections:
    """The parts that all prompts share, and two sections for each task.

    `[task]` holds commands that may follow a polite opening; `[task whole]` holds complete requests.
    """
    return MappingProxyType({name: found for file in FILES for name, found in read_sections(file).items()})


def question_and_answer(name: str, exercise: Exercise, random: Random) -> tuple[str, str]:
    """The prompt for an exercise of the task `name`, and its answer, fenced if the pasted code is."""
    fenced = random.random() < _share_fenced(exercise.pasted)
    block = _block(exercise.pasted, fenced, random)
    layout = random.random()
    if layout < 0.58:
        prompt = _before_the_text(name, exercise, block, random)
    else:
        side = "before" if layout < 0.85 else "introduced"
        ends = (_STOP, _STOP, _NOTHING, _NOTHING, _COLON if side == "before" else _STOP)
        prompt = f"{block}\n\n{_instruction(name, exercise, side, ends, random)}"
        if side == "introduced":
            prompt = _heading("introduction", exercise, block, random) + prompt
    return prompt, final_answer(exercise, fenced)


def bare_question_and_answer(name: str, exercise: Exercise, random: Random) -> tuple[str, str]:
    """The same with the bare text after the task's shortest wording."""
    asked = fill_slots(_BARE[name], quote_values(exercise, random))
    return f"{asked}:\n{exercise.pasted.text}", exercise.answer


def final_answer(exercise: Exercise, fenced: bool) -> str:
    """The answer, fenced if it is code and the pasted code was fenced."""
    if fenced and exercise.pasted.language and exercise.answer_language:
        return fence(exercise.answer, exercise.answer_language)
    return exercise.answer


def fence(text: str, language: str | None) -> str:
    """The text between lines of three backticks, the first with the language."""
    return f"```{language or ''}\n{text}\n```"


def quote_values(exercise: Exercise, random: Random) -> dict[str, str]:
    """The values of all slots of an instruction. Those that could be mistaken for its words are quoted."""
    together = " ".join(exercise.quoted.values())
    marks = [mark for mark in ('"', '"', "'", "`") if mark not in together]
    if all(" " not in value for value in exercise.quoted.values()):
        marks.append("")
    mark = random.choice(marks or [""])
    return {**exercise.plain, **{slot: f"{mark}{value}{mark}" for slot, value in exercise.quoted.items()}}


def _block(pasted: Pasted, fenced: bool, random: Random) -> str:
    """The pasted text as written in the prompt: fenced, in quotes, between marks, or plain."""
    if fenced:
        return fence(pasted.text, pasted.language)
    chance = random.random()
    if "\n" not in pasted.text:
        mark = '"' if chance < 0.22 else "'" if chance < 0.27 else ""
        return pasted.text if mark in pasted.text else f"{mark}{pasted.text}{mark}"
    if chance < 0.06 and pasted.language is None:
        before, after = random.choice((('"""', '"""'), ("<text>", "</text>"), ("<<<", ">>>")))
        return f"{before}\n{pasted.text}\n{after}"
    return pasted.text


def _before_the_text(name: str, exercise: Exercise, block: str, random: Random) -> str:
    ends = (_COLON, _COLON, _COLON, _STOP, _NOTHING)
    instruction = _instruction(name, exercise, "after", ends, random)
    if random.random() < 0.07:
        return f"{instruction}\n\n{_heading('label', exercise, block, random)}{block}"
    gaps = (" ", " ", "\n", "\n\n") if "\n" not in block and instruction.endswith(_COLON) else ("\n", "\n\n")
    return f"{instruction}{random.choice(gaps)}{block}"


def _heading(section: str, exercise: Exercise, block: str, random: Random) -> str:
    """A few words that introduce the text, with the colon and the gap after them."""
    noun = exercise.pasted.noun
    if section == "introduction" and _is_plural(noun):
        section = "introduction_plural"
    words = fill_slots(choose_words(random.choice(wordings()[section]), random), {"noun": noun})
    gap = random.choice((" ", "\n") if "\n" not in block else ("\n", "\n\n", "\n"))
    return f"{_change_case(words, random)}:{gap}"


def _instruction(name: str, exercise: Exercise, side: str, ends: tuple[str, ...], random: Random) -> str:
    """A sentence that requests the answer, with its punctuation mark."""
    sections, noun = wordings(), exercise.pasted.noun
    whole = random.random() < 0.42
    wording = choose_words(random.choice(sections[f"{name} whole" if whole else name]), random)
    open_end = _OPEN_END.search(wording) is not None
    frames = "greeting" if whole else "polite end" if random.random() < 0.1 and not open_end else "polite"
    framed = fill_slots(choose_words(random.choice(sections[frames]), random), {"ask": wording})
    reference = choose_words(random.choice(sections[f"{side}_plural" if _is_plural(noun) else side]), random)
    framed = framed.replace("{ref}", reference)
    cased = framed if framed.startswith("{") else _change_case(framed, random)
    sentence = fill_slots(cased, {**quote_values(exercise, random), "noun": noun})
    if _QUESTION.search(framed):
        return sentence + random.choice(("?", "?", "?", "?", _NOTHING, _COLON if side == "after" else _NOTHING))
    if not open_end and random.random() < 0.08:
        closing = choose_words(random.choice(sections["closing"]), random)
        return f"{sentence}. {_change_case(closing, random)}{random.choice((_STOP, _NOTHING))}"
    return sentence + random.choice((_NOTHING, _NOTHING, ends[0]) if open_end else ends)


def _is_plural(noun: str) -> bool:
    return noun.endswith("s") and not noun.endswith("ss")


def _change_case(sentence: str, random: Random) -> str:
    """The sentence with a capital at its start; one time in four without it, and then often with a lower-case `i`."""
    if random.random() < 0.75:
        return capitalised(sentence)
    return re.sub(r"\bI\b", "i", sentence) if random.random() < 0.5 else sentence


def _share_fenced(pasted: Pasted) -> float:
    if pasted.language:
        return 0.65
    return 0.15 if "\n" in pasted.text else 0.04
