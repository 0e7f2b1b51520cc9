"""Copy tasks that edit a text, and copy tasks on lists."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from builtin_pair import snippets
from builtin_pair.copying_exercises import (
    FORMS,
    Exercise,
    ListForm,
    Pasted,
    Task,
    any_text,
    as_pasted,
    code,
    common_words,
    items,
    lines,
    listed,
    prose,
    sentence,
)
from builtin_pair.material import Material


def repeat(material: Material) -> Exercise:
    """Repeat the text."""
    pasted = any_text(material)
    return Exercise(pasted, pasted.text, answer_language=pasted.language)


def quote_sentence(material: Material) -> Exercise:
    """Quote the first or the last sentence of several."""
    found = material.sentences(2, 5)
    last = material.chance(0.5)
    noun = material.random.choice(("text", "paragraph", "passage"))
    return Exercise(Pasted(" ".join(found), noun), found[-1 if last else 0], {"ordinal": "last" if last else "first"})


def quote_line(material: Material) -> Exercise:
    """Quote the only line that contains a word."""
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
    size = material.random.randint(1, min(3, len(found) - 1))
    written = str(size) if material.chance(0.6) else ("one", "two", "three")[size - 1]
    asked = "line" if size == 1 else f"{written} lines"
    answer = "\n".join(found[-size:] if last else found[:size])
    return Exercise(pasted, answer, {"lines": asked}, answer_language=pasted.language)


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
    """Repeat a text with every occurrence of a word replaced by another."""
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


def upper(material: Material) -> Exercise:
    """Write a text in upper case."""
    pasted = _short_text(material)
    return Exercise(pasted, pasted.text.upper())


def _short_text(material: Material) -> Pasted:
    """Words and sentences. Random identifiers in capitals would teach too little."""
    plain = replace(material, hardness=min(material.hardness, 0.3))
    form = material.random.random()
    if form < 0.5 or material.hardness < 0.3:
        several = " ".join(plain.distinct(lambda: _any_word(plain), plain.count(2, 30)))
        text = plain.phrase(2, 30) if plain.chance(0.4) else several
        return Pasted(text, material.random.choice(("text", "words", "line", "phrase")))
    return sentence(plain) if form < 0.8 else prose(plain)


def _any_word(material: Material) -> str:
    return material.random.choice(common_words()) if material.chance(0.75) else material.pseudo_word()


def _several_lines(material: Material) -> Pasted:
    while True:
        pasted = code(material) if material.chance(0.3) else lines(material, 2, 9)
        if "\n" in pasted.text and len(set(pasted.text.split("\n"))) == pasted.text.count("\n") + 1:
            return pasted


EDITS = (
    Task("repeat", 4, repeat),
    Task("quote_sentence", 2.5, quote_sentence),
    Task("quote_line", 2, quote_line),
    Task("first_lines", 2.5, first_lines),
    Task("last_lines", 2, last_lines),
    Task("rename", 8, rename),
    Task("replace", 6, replace_word),
    Task("upper", 6, upper),
)


BULLETS = ListForm("- ", "\n")
COMMAS = ListForm("", ", ")
LINES = ListForm("", "\n")


def repeat_list(material: Material) -> Exercise:
    """Repeat a list in its own form."""
    pasted = listed(material, items(material, 2, 12), material.random.choice(FORMS))
    return Exercise(pasted, pasted.text)


def sort_words(material: Material) -> Exercise:
    """Sort two to six words or names alphabetically, keeping the list's form."""
    makers: tuple[tuple[str, Callable[[], str]], ...] = (
        ("words", lambda: material.pick("noun")), ("words", lambda: material.pick("adjective")),
        ("words", material.pseudo_word), ("words", lambda: material.random.choice(common_words())),
        ("names", lambda: material.pick("first")), ("names", lambda: material.pick("last")),
        ("cities", lambda: material.pick("city")),
    )  # fmt: skip
    noun, make = material.random.choice(makers)
    found = material.distinct(make, material.count(2, 6))
    form = material.random.choice(FORMS)
    pasted = listed(material, found, form, material.random.choice((noun, noun, "list", "items")))
    return Exercise(pasted, form.write(sorted(found)))


def emails(material: Material) -> Exercise:
    """List the e-mail addresses of a text, one per line."""
    found = material.distinct(material.email, material.count(1, 4))
    thing = replace(material, hardness=0.0).thing
    return _scattered(material, found, lambda email: material.random.choice((
        f"{material.pick('first')} can be reached at {email}.",
        f"Write to {email} about the {thing()}.",
        f"The {thing()} belongs to {material.pick('first')} ({email}).",
        f"Send the {thing()} to {email} and to nobody else.",
        f"{email} asked for the {thing()}.",
    )))  # fmt: skip


def _scattered(material: Material, found: list[str], write: Callable[[str], str]) -> Exercise:
    sentences: list[str] = []
    for piece in found:
        if material.chance(0.3):
            sentences.append(f"The {material.pick('noun')} is {material.pick('adjective')}.")
        sentences.append(write(piece))
    text = (" " if material.chance(0.7) else "\n").join(sentences)
    return Exercise(Pasted(text, material.random.choice(("text", "message", "paragraph", "note"))), LINES.write(found))


def value(material: Material) -> Exercise:
    """Give the value of a key in settings or JSON."""
    found = snippets.pairs(material, 2, 7)
    key, answer = material.random.choice(found)
    form = material.random.random()
    if form < 0.4:
        pasted = Pasted("\n".join(f"{name} = {text}" for name, text in found), "settings", "ini")
    elif form < 0.7:
        pasted = Pasted("\n".join(f"{name}: {text}" for name, text in found), "data")
    else:
        pasted = Pasted(json.dumps(dict(found), indent=2), "JSON", "json")
    return Exercise(pasted, answer, {}, {"key": key})


LISTS = (
    Task("repeat_list", 2, repeat_list),
    Task("sort_words", 6, sort_words),
    Task("emails", 4, emails),
    Task("value", 4, value),
)
