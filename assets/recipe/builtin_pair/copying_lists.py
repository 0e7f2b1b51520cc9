"""Copy tasks on lists and records: repeat, sort, extract, look up."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from builtin_pair import snippets
from builtin_pair.copying_exercises import FORMS, Exercise, ListForm, Pasted, Task, common_words, items, listed
from builtin_pair.material import Material

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
