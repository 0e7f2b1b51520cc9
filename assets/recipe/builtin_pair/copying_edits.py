"""Copy tasks that repeat, quote or edit a pasted text."""

from __future__ import annotations

import re
from dataclasses import replace

from builtin_pair import snippets
from builtin_pair.copying_exercises import (
    ORDINALS,
    Exercise,
    Pasted,
    Task,
    any_text,
    as_pasted,
    code,
    lines,
    prose,
    sentence,
)
from builtin_pair.material import Material


def repeat(material: Material) -> Exercise:
    """Repeat the text."""
    pasted = any_text(material)
    return Exercise(pasted, pasted.text, answer_language=pasted.language)


def quote_sentence(material: Material) -> Exercise:
    """Quote one sentence of several by its place."""
    found = material.sentences(2, 6)
    place = material.random.randrange(min(len(found), 5))
    ordinal = "last" if place == len(found) - 1 and material.chance(0.5) else ORDINALS[place]
    noun = material.random.choice(("text", "paragraph", "passage"))
    return Exercise(Pasted(" ".join(found), noun), found[place], {"ordinal": ordinal})


def quote_line(material: Material) -> Exercise:
    """Quote the only line that holds a word."""
    while True:
        pasted = _several_lines(material)
        found = pasted.text.split("\n")
        line = material.random.choice(found)
        words = [word for word in re.findall(r"\w[\w.@-]*\w", line) if sum(word in other for other in found) == 1]
        if words:
            return Exercise(pasted, line.strip(), {}, {"word": material.random.choice(words)})


def first_lines(material: Material) -> Exercise:
    """Give the first line or lines."""
    return _some_lines(material, last=False)


def last_lines(material: Material) -> Exercise:
    """Give the last line or lines."""
    return _some_lines(material, last=True)


def _some_lines(material: Material, last: bool) -> Exercise:
    pasted = _several_lines(material)
    found = pasted.text.split("\n")
    size = material.random.randint(1, len(found) - 1)
    written = str(size) if material.chance(0.6) else _number_word(size)
    asked = "line" if size == 1 else f"{written} lines"
    answer = "\n".join(found[-size:] if last else found[:size])
    return Exercise(pasted, answer, {"lines": asked}, answer_language=pasted.language)


def nth_line(material: Material) -> Exercise:
    """Give one line by its place; never the first of code, which `first_lines` answers in a fence."""
    pasted = _several_lines(material)
    found = pasted.text.split("\n")
    place = material.random.randrange(1 if pasted.language else 0, min(len(found), len(ORDINALS)))
    return Exercise(pasted, found[place].strip(), {"ordinal": ORDINALS[place], "number": str(place + 1)})


def rename(material: Material) -> Exercise:
    """Repeat code with one of its names changed."""
    while True:
        snippet = snippets.renamable_code(material)
        old = material.random.choice(snippet.names)
        new = material.function_name() if "(" in snippet.text and material.chance(0.2) else material.variable()
        name = rf"\b{re.escape(old)}\b"
        if new not in snippet.text and re.search(name, snippet.text):
            pasted = as_pasted(material, snippet)
            answer = re.sub(name, new, snippet.text)
            return Exercise(pasted, answer, {}, {"old": old, "new": new}, snippet.language)


def replace_word(material: Material) -> Exercise:
    """Repeat a text with a word replaced by another wherever it stands."""
    while True:
        pasted = (
            prose(material) if material.chance(0.6) else sentence(material) if material.chance(0.5) else lines(material)
        )
        words = re.findall(r"(?<![\w.@/-])[A-Za-z]{4,}(?![\w@/-]|\.\w)", pasted.text)
        new = material.word() if material.chance(0.6) else material.pseudo_word()
        if words and new not in pasted.text:
            old = material.random.choice(words)
            if pasted.text.count(old) == len(re.findall(rf"\b{old}\b", pasted.text)):
                return Exercise(pasted, pasted.text.replace(old, new), {}, {"old": old, "new": new})


def add_line(material: Material) -> Exercise:
    """Repeat the lines with one more at the end."""
    pasted, line = _lines_and_one_more(material)
    return Exercise(pasted, f"{pasted.text}\n{line}", {}, {"line": line}, pasted.language)


def add_first_line(material: Material) -> Exercise:
    """Repeat the lines with one more before them."""
    pasted, line = _lines_and_one_more(material)
    return Exercise(pasted, f"{line}\n{pasted.text}", {}, {"line": line}, pasted.language)


def delete_line(material: Material) -> Exercise:
    """Repeat the lines without one of them."""
    pasted = _several_lines(material)
    found = pasted.text.split("\n")
    place = material.random.randrange(min(len(found), len(ORDINALS)))
    answer = "\n".join(found[:place] + found[place + 1 :])
    values = {"ordinal": ORDINALS[place], "number": str(place + 1)}
    if place == len(found) - 1 and material.chance(0.4):
        values["ordinal"] = "last"
    return Exercise(pasted, answer, values, answer_language=pasted.language)


def upper(material: Material) -> Exercise:
    """Write a text in upper case."""
    pasted = _short_text(material)
    return Exercise(pasted, pasted.text.upper())


def lower(material: Material) -> Exercise:
    """Write a text in lower case; half of them come in upper case."""
    pasted = _short_text(material)
    if material.chance(0.5):
        pasted = replace(pasted, text=pasted.text.upper())
    return Exercise(pasted, pasted.text.lower())


def _short_text(material: Material) -> Pasted:
    form = material.random.random()
    if form < 0.4 or material.hardness < 0.3:
        return Pasted(material.phrase(2, 14), material.random.choice(("text", "words", "line", "phrase")))
    return sentence(material) if form < 0.7 else prose(material) if form < 0.85 else lines(material, 1, 5)


def _several_lines(material: Material) -> Pasted:
    while True:
        pasted = code(material) if material.chance(0.3) else lines(material, 2, 9)
        if "\n" in pasted.text and len(set(pasted.text.split("\n"))) == pasted.text.count("\n") + 1:
            return pasted


def _lines_and_one_more(material: Material) -> tuple[Pasted, str]:
    pasted = _several_lines(material) if material.chance(0.25) else lines(material, 1, 8)
    if pasted.language:
        return pasted, f"{material.function_name()}({material.variable()})"
    return pasted, material.sentence() if material.chance(0.3) else material.phrase(1, 6)


def _number_word(number: int) -> str:
    words = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number - 1] if number <= len(words) else str(number)


EDITS = (
    Task("repeat", 10, repeat, 0.0),
    Task("quote_sentence", 2, quote_sentence, 0.25),
    Task("quote_line", 2, quote_line),
    Task("first_lines", 2, first_lines),
    Task("last_lines", 1, last_lines),
    Task("nth_line", 1, nth_line),
    Task("rename", 5, rename),
    Task("replace", 3, replace_word, 0.25),
    Task("add_line", 1.5, add_line, 0.25),
    Task("add_first_line", 1, add_first_line, 0.25),
    Task("delete_line", 1.5, delete_line),
    Task("upper", 2, upper, 0.15),
    Task("lower", 1.5, lower, 0.15),
)
