"""How many cells a text takes, counted so that every terminal agrees, and what is drawn of it for that to be true.

Terminals differ where characters join: emoji sequences, variation selectors, skin tones. What is drawn leaves the
joiners out, so that each character stands for itself with a width of its own, and a pile of combining marks is cut.
"""

from __future__ import annotations

import re

from rich.cells import get_character_cell_size

MARKS_KEPT = 4
"""The most marks that are drawn on one character: real scripts need three."""

_JOINERS = re.compile("[\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef\U0001f3fb-\U0001f3ff]")
_JOINER_SET = frozenset(map(chr, (0x200D, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x1F3FB, 0x1F400))))


def width_of(character: str) -> int:
    """Cells of one character: 0 for what is drawn onto the one before it or not at all."""
    return 0 if character in _JOINER_SET else get_character_cell_size(character)


def cells(text: str) -> int:
    """Cells of a text, as `drawn` shows it."""
    return len(text) if text.isascii() else sum(map(width_of, text))


def drawn(text: str) -> str:
    """What goes to the terminal for a text without line ends: as many cells as `cells` says, on any terminal."""
    if text.isascii():
        return text
    text = _JOINERS.sub("", text)
    if len(text) <= MARKS_KEPT:
        return text
    kept: list[str] = []
    marks = 0
    for character in text:
        marks = 0 if width_of(character) else marks + 1
        if marks <= MARKS_KEPT:
            kept.append(character)
    return "".join(kept)


def fit(text: str, room: int, begin: int = 0) -> int:
    """Where the part of the text from `begin` on ends that fits into so many cells, marks on its last character too."""
    if text.isascii():
        return min(len(text), begin + room)
    for index in range(begin, len(text)):
        room -= width_of(text[index])
        if room < 0:
            return index
    return len(text)
