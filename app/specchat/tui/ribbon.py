"""Rounds as words of `●○·◆`, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

Styled = tuple[str, str] | str
"""Text, with a style in the theme's words."""

QUIET = "$quiet"

_STYLES = {"●": "$outcome-accepted", "○": "$outcome-correction", "·": "$outcome-discarded"}


def words(ribbon: Sequence[str], width: int, rows: int) -> list[list[Styled]]:
    """The last rows of all rounds, filled in the order in which they came: what is drawn stays where it is."""
    lines: list[list[str]] = [[]]
    room = width
    for word in ribbon:
        shown = _cut(word, width)
        if len(shown) > room:
            lines.append([])
            room = width
        lines[-1].append(shown)
        room -= len(shown) + 1
    return [_line(line) for line in lines[-rows:]]


def latest(ribbon: Sequence[str], width: int) -> list[Styled]:
    """As many of the latest rounds as one row holds."""
    chosen: list[str] = []
    room = width
    for word in reversed(ribbon):
        shown = _cut(word, width)
        if len(shown) > room:
            break
        chosen.insert(0, shown)
        room -= len(shown) + 1
    return _line(chosen)


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else word[: width - 1] + "…"


def _line(shown: Sequence[str]) -> list[Styled]:
    return [part for word in shown for part in (*_coloured(word), " ")]


def _coloured(word: str) -> list[Styled]:
    """The target's token has the colour of a correction behind a rejected one, else that of a bonus."""
    last = "$outcome-correction" if "○" in word else "$outcome-bonus"
    return [("".join(run), last if glyph == "◆" else _STYLES.get(glyph, QUIET)) for glyph, run in groupby(word)]
