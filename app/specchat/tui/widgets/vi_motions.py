"""Where vi's motions go in a text: places of characters, words and lines."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"\w+|[^\w\s]+|^$", re.MULTILINE)
"""An empty line counts as a word."""


@dataclass(frozen=True, slots=True)
class ViCursor:
    """A cursor in a text, and the count before a command."""

    text: str
    cursor: int
    count: int
    given: bool

    @property
    def line(self) -> tuple[int, int]:
        """The ends of the cursor's line."""
        return line_at(self.text, self.cursor)


def target(at: ViCursor, name: str, *, operating: bool = False) -> int | None:
    """Where a motion goes; None if it is not a motion. For an operator, w does not go past the line's end."""
    text, cursor, (start, end) = at.text, at.cursor, at.line
    match name:
        case "h":
            return max(cursor - at.count, start)
        case "l":
            return min(cursor + at.count, end if operating else max(end - 1, start))
        case "0":
            return start
        case "^":
            return first_of(text, start)
        case "$":
            first, last = line_at(text, lines_from(at, at.count - 1)[1])
            return max(last - 1, first)
        case "G" | "gg":
            rows = [0, *(line_end.end() for line_end in re.finditer("\n", text))]
            number = at.count - 1 if at.given else 0 if name == "gg" else len(rows) - 1
            return first_of(text, rows[min(number, len(rows) - 1)])
        case "w" | "b" | "e":
            before = cursor
            for _ in range(at.count):
                before, cursor = cursor, _word(text, cursor, name)
                if before == cursor:
                    break
            return min(cursor, line_at(text, before)[1]) if operating and name == "w" else cursor
    return None


def _word(text: str, cursor: int, name: str) -> int:
    """The next beginning (w), the last one (b), or the next end (e) of a word; else the end of the text."""
    words = [word.span() for word in _WORD.finditer(text)]
    if name == "b":
        return max((start for start, _ in words if start < cursor), default=0)
    if name == "w":
        return min((start for start, _ in words if start > cursor), default=len(text))
    return min((end - 1 for _, end in words if end - 1 > cursor), default=max(len(text) - 1, cursor))


def word_to_change(at: ViCursor) -> int | None:
    """Where cw ends: after the word and before the blanks that dw takes."""
    cursor = at.cursor
    if not at.text[cursor : cursor + 1].strip():
        return target(at, "w", operating=True)
    for step in range(at.count):
        cursor = _word(at.text, cursor - (step == 0), "e")
    return cursor + 1


def lines_from(at: ViCursor, further: int) -> tuple[int, int]:
    """The ends of the cursor's line and of so many further lines; negative ones are above."""
    start, end = at.line
    for _ in range(abs(further)):
        if further > 0 and end < len(at.text):
            end = line_at(at.text, end + 1)[1]
        elif further < 0 and start > 0:
            start = line_at(at.text, start - 1)[0]
    return start, end


def line_at(text: str, cursor: int) -> tuple[int, int]:
    """The ends of the line around a place."""
    end = text.find("\n", cursor)
    return text.rfind("\n", 0, cursor) + 1, len(text) if end < 0 else end


def first_of(text: str, start: int) -> int:
    """The first character of a line that is not blank."""
    return min(start + indent_of(text, start), max(line_at(text, start)[1] - 1, start))


def indent_of(text: str, start: int) -> int:
    """The number of blanks at the beginning of the line that starts here."""
    line = text[start : line_at(text, start)[1]]
    return len(line) - len(line.lstrip(" \t"))
