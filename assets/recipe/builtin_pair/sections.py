"""Reads the word lists and wordings in `data/`, and makes sentences from wordings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from random import Random
from types import MappingProxyType

Sections = Mapping[str, tuple[str, ...]]
"""The entries of each section of a data file, by the section's name."""

_DATA = Path(__file__).with_name("data")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def read_sections(file_name: str) -> Sections:
    """The sections of `data/<file_name>`: a `[name]` line, then one entry a line, or several separated by `;`.

    Empty lines are ignored. Raises ValueError for an entry before the first section.
    """
    sections: dict[str, list[str]] = {}
    entries: list[str] | None = None
    for line in (_DATA / file_name).read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            entries = sections.setdefault(line[1:-1], [])
        elif entries is None and line.strip():
            raise ValueError(f"data/{file_name}: {line!r} is before the first [section]")
        elif entries is not None:
            entries.extend(entry.strip() for entry in line.split(";") if entry.strip())
    return MappingProxyType({name: tuple(found) for name, found in sections.items()})


def choose_words(wording: str, random: Random) -> str:
    """The wording with one alternative chosen in each `(one|other)`, from the innermost outwards."""
    while match := _CHOICE.search(wording):
        wording = wording[: match.start()] + random.choice(match[1].split("|")) + wording[match.end() :]
    return re.sub(" {2,}", " ", wording).strip()


def fill_slots(wording: str, values: Mapping[str, str]) -> str:
    """The wording with each `{slot}` replaced by its value. Raises KeyError for a slot without a value."""
    return _SLOT.sub(lambda match: values[match[1]], wording)


def say(wording: str, random: Random, values: Mapping[str, str]) -> str:
    """A sentence made from the wording. Alternatives are chosen first, so that values are never mistaken for them."""
    return fill_slots(choose_words(wording, random), values)


def capitalised(sentence: str) -> str:
    """The sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]


OPENERS = (
    "Hi, ", "Hello! ", "Hey, ", "hey ", "Quick question: ", "One more thing: ", "So, ", "OK, ", "Um, ",
    "I was wondering: ", "Question: ", "Now, ", "Next: ", "Sorry to bother you. ", "Good morning. ", "well, ",
)  # fmt: skip
ENDINGS = (" Thanks!", " Please.", " thanks", " please", " Thank you.", " :)", " I am curious.", " It is for work.")


def fill(template: str, slots: Mapping[str, Sequence[str]], random: Random) -> str:
    """Replace each `{slot}`; `{numberN}` draws a number of N digits. Raises KeyError for an unknown slot."""

    def value(match: re.Match[str]) -> str:
        digits = re.fullmatch(r"number(\d)", match[1])
        if digits:
            return str(random.randrange(10 ** (int(digits[1]) - 1), 10 ** int(digits[1])))
        return random.choice(slots[match[1]])

    return re.sub(r"\{(\w+)\}", value, template)


def roughen(template: str, random: Random) -> str:
    """A template as people would type it. Slots stay unchanged, so fill them afterwards."""
    text = template
    if random.random() < 0.15:
        text = random.choice(OPENERS) + text
    if random.random() < 0.3:
        text = text.lower()
    chance = random.random()
    if chance < 0.25:
        text = text.rstrip("?.!")
    elif chance < 0.29 and not text.endswith("}"):
        text = text.rstrip("?.!") + random.choice(("??", "...", " ?", "!"))
    if random.random() < 0.06:
        text += random.choice(ENDINGS)
    return text
