"""Turns a template into what a person would type: filled slots, an opener, lower case, missing punctuation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

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
