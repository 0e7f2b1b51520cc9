"""Copy tasks and the pasted texts that they work on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from builtin_pair import snippets, stories
from builtin_pair.facts import load_facts
from builtin_pair.library_texts import passages
from builtin_pair.material import Material

LONGEST_TEXT = 460
"""Characters in the longest pasted text of length 1: about 150 tokens of prose, more of hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Pasted:
    """A text of the user, the noun for it in the request, and its language if it is code."""

    text: str
    noun: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Exercise:
    """A task on a pasted text, and the only right answer.

    `plain` and `quoted` hold the values of the wording's slots; the latter are put in quotes. An answer with a language
    is fenced if and only if the pasted text is.
    """

    pasted: Pasted
    answer: str
    plain: Mapping[str, str] = field(default_factory=dict)
    quoted: Mapping[str, str] = field(default_factory=dict)
    answer_language: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of exercise: the section of its wordings, and its frequency."""

    name: str
    weight: float
    make: Callable[[Material], Exercise]


@dataclass(frozen=True, slots=True)
class ListForm:
    """The written form of a list."""

    before: str
    between: str

    def write(self, items: list[str]) -> str:
        """The list as text."""
        return self.between.join(self.before + item for item in items)


FORMS = (ListForm("", ", "), ListForm("", "\n"), ListForm("- ", "\n"))


@cache
def common_words() -> tuple[str, ...]:
    """All words of three to ten letters in the questions and answers about facts, as examples of spelling."""
    texts = " ".join(text for fact in load_facts() for text in (*fact.questions, fact.answer))
    return tuple(sorted(set(re.findall(r"(?<![\w-])[a-z]{3,10}(?![\w-])", texts))))


def any_text(material: Material) -> Pasted:
    """A text of any kind: words, prose, code, a list, a log, a table, an address."""
    if material.makes_sense():
        return as_pasted(material, snippets.library(material)) if material.chance(0.6) else _told(material)
    if material.hardness < 0.2 or material.chance(0.3):
        return Pasted(
            material.phrase(3, 40), material.random.choice(("text", "text", "words", "phrase", "line", "string"))
        )
    makers: tuple[Callable[[Material], Pasted], ...] = (
        prose, prose, prose, code, code, lines, lines, csv, address, single_identifier,
    )  # fmt: skip
    return material.random.choice(makers)(material)


def prose(material: Material) -> Pasted:
    """A paragraph or a single sentence."""
    return _told(material) if material.makes_sense() else _as_prose(material, material.prose())


def _told(material: Material) -> Pasted:
    """Stories or passages in sequence, as many as the length allows."""
    count = material.random.randint(1, max(1, round(material.length)))
    if material.chance(0.5):
        chats = stories.chats(material.random)
        found = [next(chats).turns[0].assistant for _ in range(count)]
    else:
        found = [material.random.choice(passages()) for _ in range(count)]
    return _as_prose(material, material.random.choice((" ", "\n")).join(found))


def _as_prose(material: Material, text: str) -> Pasted:
    return Pasted(text, material.random.choice(("text", "text", "paragraph", "passage", "message", "note")))


def sentence(material: Material) -> Pasted:
    """One sentence."""
    return Pasted(material.sentence(), material.random.choice(("sentence", "text", "line")))


def code(material: Material) -> Pasted:
    """A snippet in one of several languages."""
    return as_pasted(material, snippets.any_code(material))


def as_pasted(material: Material, snippet: snippets.Snippet) -> Pasted:
    """The snippet, called by one of the names for its language."""
    names = {
        "python": ("code", "code", "function", "program"),
        "sql": ("query", "statement", "SQL"),
        "json": ("JSON", "object", "data"),
        "ini": ("settings", "configuration", "config"),
        "bash": ("commands", "script"),
    }
    choices = names.get(snippet.language, ("code", "snippet", "function"))
    return Pasted(snippet.text, material.random.choice(choices), snippet.language)


def lines(material: Material, fewest: int = 1, most: int = 9) -> Pasted:
    """Different lines: phrases, sentences, names, file names or a log."""
    if fewest == 1 and material.chance(0.3):
        return Pasted("\n".join(snippets.log_lines(material)), material.random.choice(("log", "lines", "text")))
    makers: tuple[Callable[[], str], ...] = (
        lambda: material.phrase(1, 6), lambda: material.phrase(1, 6), material.clause, material.sentence,
        material.file_name, material.full_name, material.email, material.address, material.identifier,
    )  # fmt: skip
    found = material.distinct(material.random.choice(makers), material.count(fewest, most))
    return Pasted("\n".join(found), material.random.choice(("text", "lines", "list", "lines")))


def csv(material: Material) -> Pasted:
    """A table with commas between its cells."""
    header, rows = snippets.table(material)
    return Pasted(
        "\n".join(",".join(cells) for cells in [header, *rows]), material.random.choice(("table", "CSV", "data"))
    )


def address(material: Material) -> Pasted:
    """Name and address of a person on three lines."""
    street, city = material.address().split(", ")
    return Pasted(f"{material.full_name()}\n{street}\n{city}", "address")


def single_identifier(material: Material) -> Pasted:
    """One or two identifiers."""
    text = " ".join(material.identifier() for _ in range(material.count(1, 2)))
    return Pasted(text, material.random.choice(("string", "code", "text", "word")))


def items(material: Material, fewest: int, most: int) -> list[str]:
    """The items of a list: all of one sort, all different."""
    makers: tuple[Callable[[], str], ...] = (
        material.word, lambda: material.pick("noun"), material.thing, material.full_name,
        lambda: material.pick("city"), material.identifier, material.variable, material.pseudo_word, material.integer,
        material.code, material.file_name,
    )  # fmt: skip
    chosen = material.random.choice(makers)
    return material.distinct(chosen, material.count(fewest, most))


def listed(material: Material, found: list[str], form: ListForm, noun: str | None = None) -> Pasted:
    """The items as a pasted list in that form."""
    return Pasted(form.write(found), noun or material.random.choice(("list", "items", "list", "entries")))


def make_exercise(task: Task, material: Material) -> Exercise:
    """An exercise whose text is not too long. Longer texts are made again, a little easier each time."""
    hardness = material.hardness
    while True:
        exercise = task.make(replace(material, hardness=hardness))
        if len(exercise.pasted.text) <= LONGEST_TEXT * material.length:
            return exercise
        hardness *= 0.9
