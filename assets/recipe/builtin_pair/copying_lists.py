"""Copy tasks on lists and records: repeat, sort, reverse, reformat, extract, convert, fill in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from builtin_pair import snippets
from builtin_pair.copying_exercises import FORMS, Exercise, ListForm, Pasted, Task, items, listed
from builtin_pair.material import Material
from builtin_pair.sections import capitalised, fill_slots

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
        ("words", material.pseudo_word), ("names", lambda: material.pick("first")),
        ("names", lambda: material.pick("last")), ("cities", lambda: material.pick("city")),
    )  # fmt: skip
    noun, make = material.random.choice(makers)
    return _ordered(material, material.distinct(make, material.count(2, 6)), noun, sorted)


def sort_numbers(material: Material) -> Exercise:
    """Sort two to six numbers from small to large, keeping the list's form."""
    found = material.distinct(material.integer, material.count(2, 6))
    return _ordered(material, found, "numbers", lambda numbers: sorted(numbers, key=int))


def reverse(material: Material) -> Exercise:
    """Write a list of two to eight items from last to first, keeping its form."""
    return _ordered(material, items(material, 2, 8), "items", lambda found: found[::-1])


def _ordered(material: Material, found: list[str], noun: str, order: Callable[[list[str]], list[str]]) -> Exercise:
    form = material.random.choice(FORMS)
    pasted = listed(material, found, form, material.random.choice((noun, noun, "list", "items")))
    return Exercise(pasted, form.write(order(found)))


def bullets(material: Material) -> Exercise:
    """Write the items of a list with a dash each."""
    found = items(material, 2, 10)
    return Exercise(_plural(material, found, (COMMAS, LINES)), BULLETS.write(found))


def numbered(material: Material) -> Exercise:
    """Write the items of a list with numbers."""
    found = items(material, 2, 10)
    answer = "\n".join(f"{place}. {item}" for place, item in enumerate(found, 1))
    return Exercise(_plural(material, found, FORMS), answer)


def commas(material: Material) -> Exercise:
    """Join lines by commas."""
    found = items(material, 2, 10)
    return Exercise(_plural(material, found, (LINES, BULLETS)), COMMAS.write(found))


def one_per_line(material: Material) -> Exercise:
    """Write items that stand on one line on one line each."""
    found = items(material, 2, 10)
    return Exercise(_plural(material, found, (COMMAS, ListForm("", "; "))), LINES.write(found))


def _plural(material: Material, found: list[str], forms: tuple[ListForm, ...]) -> Pasted:
    noun = material.random.choice(("items", "items", "entries"))
    return listed(material, found, material.random.choice(forms), noun)


def emails(material: Material) -> Exercise:
    """List the e-mail addresses of a text, one on each line."""
    found = material.distinct(material.email, material.count(1, 5))
    thing = replace(material, hardness=0.0).thing
    return _scattered(material, found, lambda email: material.random.choice((
        f"{material.pick('first')} can be reached at {email}.",
        f"Write to {email} about the {thing()}.",
        f"The {thing()} belongs to {material.pick('first')} ({email}).",
        f"Send the {thing()} to {email} and to nobody else.",
        f"{email} asked for the {thing()}.",
    )))  # fmt: skip


def numbers(material: Material) -> Exercise:
    """List the numbers of a text in their order, one on each line."""
    makers = (material.integer, material.integer, material.integer, material.decimal)
    found = material.distinct(lambda: material.random.choice(makers)(), material.count(1, 6))
    thing = replace(material, hardness=0.0).thing
    return _scattered(material, found, lambda number: material.random.choice((
        f"{material.pick('first')} paid {number} for the {thing()}.",
        f"The {thing()} costs {number} in {material.pick('city')}.",
        f"We counted {number} of them near the {thing()}.",
        f"Room {number} has a {thing()}.",
        f"It was {number} when {material.pick('first')} {material.pick('went')} home.",
    )))  # fmt: skip


def names(material: Material) -> Exercise:
    """List the names of the people in a text in their order, one on each line."""
    found = material.distinct(material.full_name, material.count(1, 5))
    thing = replace(material, hardness=0.0).thing
    return _scattered(material, found, lambda name: material.random.choice((
        f"{name} {material.pick('verb')} the {thing()}.",
        f"The {thing()} belongs to {name}.",
        f"Yesterday {name} {material.pick('went')} {material.pick('preposition')} the {thing()}.",
        f"Then the {thing()} was given to {name}.",
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
    found = snippets.pairs(material, 2, 8)
    key, answer = material.random.choice(found)
    form = material.random.random()
    if form < 0.4:
        pasted = Pasted("\n".join(f"{name} = {text}" for name, text in found), "settings", "ini")
    elif form < 0.7:
        pasted = Pasted("\n".join(f"{name}: {text}" for name, text in found), "data")
    else:
        pasted = Pasted(json.dumps(dict(found), indent=2), "JSON", "json")
    return Exercise(pasted, answer, {}, {"key": key})


def column(material: Material) -> Exercise:
    """List the values of a column of a table."""
    header, rows = snippets.table(material)
    place = material.random.randrange(len(header))
    if material.chance(0.5):
        written = [",".join(cells) for cells in [header, *rows]]
    else:
        ruled = [header, ["---"] * len(header), *rows]
        written = [f"| {' | '.join(cells)} |" for cells in ruled]
    pasted = Pasted("\n".join(written), material.random.choice(("table", "data")))
    return Exercise(pasted, LINES.write([cells[place] for cells in rows]), {}, {"key": header[place]})


def to_json(material: Material) -> Exercise:
    """Convert lines `key = value` or `key: value` to a JSON object; whole numbers become numbers."""
    found = snippets.pairs(material, 1, 8)
    sign, language = material.random.choice(((" = ", "ini"), ("=", "ini"), (": ", None)))
    noun = material.random.choice(("lines", "settings", "data"))
    pasted = Pasted("\n".join(f"{key}{sign}{text}" for key, text in found), noun, language)
    converted = {key: int(text) if re.fullmatch(r"0|[1-9]\d*", text) else text for key, text in found}
    return Exercise(pasted, json.dumps(converted, indent=2), answer_language="json")


def fill(material: Material) -> Exercise:
    """Fill the placeholders of a short letter with given values."""
    makers: dict[str, Callable[[], str]] = {
        "name": material.full_name, "city": lambda: material.pick("city"), "date": material.date,
        "item": material.thing, "code": material.code, "amount": material.integer, "email": material.email,
        "time": material.clock, "file": material.file_name,
    }  # fmt: skip
    letter = " ".join(material.distinct(lambda: material.pick("letter"), material.count(1, 3)))
    slots = list(dict.fromkeys(re.findall(r"\{(\w+)\}", letter)))
    values = {slot: makers[slot]() for slot in slots}
    before, after = material.random.choice(("{}", "[]", "<>", ("{{", "}}")))
    blank = fill_slots(letter, {slot: f"{before}{slot}{after}" for slot in slots})
    given = material.random.choice((" = ", ": ", "="))
    material.random.shuffle(slots)
    asked = [f"{slot}{given}{values[slot]}" for slot in slots]
    pasted = Pasted(capitalised(blank), material.random.choice(("template", "form", "letter", "text")))
    return Exercise(pasted, capitalised(fill_slots(letter, values)), {"values": ", ".join(asked)})


LISTS = (
    Task("repeat_list", 4, repeat_list, 0.1),
    Task("sort_words", 2, sort_words),
    Task("sort_numbers", 1.5, sort_numbers),
    Task("reverse", 1.5, reverse, 0.25),
    Task("bullets", 1.5, bullets, 0.2),
    Task("numbered", 1.5, numbered, 0.2),
    Task("commas", 1, commas, 0.2),
    Task("one_per_line", 1, one_per_line, 0.2),
    Task("emails", 1.5, emails),
    Task("numbers", 1.5, numbers),
    Task("names", 1, names),
    Task("value", 2, value, 0.25),
    Task("column", 1.5, column),
    Task("json", 2, to_json),
    Task("fill", 2, fill),
)
