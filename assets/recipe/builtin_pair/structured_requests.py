"""Shared by all requests for structured answers: the wording, the fence, and lists as people write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from builtin_pair.copying_prompts import fence
from builtin_pair.material import Material
from builtin_pair.sections import Sections, capitalised, read_sections, say

WORDINGS = "structured_wordings.txt"


@dataclass(frozen=True, slots=True)
class Request:
    """A request, as the section of its wordings and the values of their slots, and the only right answer.

    Each of `follow_ups` is a section of wordings for a second turn, the values of its slots, and its answer.
    """

    section: str
    values: Mapping[str, str]
    answer: str
    follow_ups: tuple[tuple[str, Mapping[str, str], str], ...] = ()


RequestMaker = Callable[[Material], Request]


def wordings() -> Sections:
    """The wordings of all requests, and their word lists."""
    return read_sections(WORDINGS)


def request_text(section: str, values: Mapping[str, str], random: Random) -> str:
    """A request in one of the section's wordings, with or without initial capital and punctuation."""
    text = say(random.choice(wordings()[section]), random, values)
    if text.lower().startswith(("what", "how", "can ", "could ")):
        end = random.choice("???.") if random.random() < 0.9 else ""
    else:
        end = "" if text.endswith((".", "?", "!")) else random.choice(("", ".", "."))
    return (capitalised(text) if random.random() < 0.8 else text) + end


def enumeration(pieces: list[str], random: Random) -> str:
    """The pieces as `a, b and c` or `a, b, c`."""
    if len(pieces) > 1 and random.random() < 0.6:
        return f"{', '.join(pieces[:-1])} and {pieces[-1]}"
    return ", ".join(pieces)


def assignments(pairs: Mapping[str, str], random: Random) -> str:
    """Keys with their values as people list them: `name Anna, age 3`, `name = Anna, age = 3`, `name: Anna, age: 3`."""
    sign = random.choice((" ", " ", " = ", ": ", "="))
    return enumeration([f"{key}{sign}{value}" for key, value in pairs.items()], random)


def fenced_sql(lines: list[str]) -> str:
    """The lines of a statement in a fence, with a semicolon at the end."""
    return fence("\n".join(lines) + ";", "sql")
