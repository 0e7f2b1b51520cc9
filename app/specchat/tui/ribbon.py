"""Rounds as words of `●○·◆`, the latest of them in rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

Styled = tuple[str, str] | str
"""Text, with a style in the theme's words."""

QUIET = "$quiet"

_STYLES = {"●": "$outcome-accepted", "○": "$outcome-correction", "·": "$outcome-discarded"}


def words(ribbon: Sequence[str], width: int, rows: int) -> list[list[Styled]]:
    """The latest rounds as rows of words, the newest last."""
    lines: list[list[str]] = [[]]
    room = width
    for word in reversed(ribbon):
        shown = word if len(word) <= width else word[: width - 1] + "…"
        if len(shown) > room:
            if len(lines) == rows:
                break
            lines.append([])
            room = width
        lines[-1].insert(0, shown)
        room -= len(shown) + 1
    lines.reverse()
    return [[part for word in line for part in (*_coloured(word), " ")] for line in lines]


def _coloured(word: str) -> list[Styled]:
    """The target's token has the colour of a correction behind a rejected one, else that of a bonus."""
    last = "$outcome-correction" if "○" in word else "$outcome-bonus"
    return [("".join(run), last if glyph == "◆" else _STYLES.get(glyph, QUIET)) for glyph, run in groupby(word)]
