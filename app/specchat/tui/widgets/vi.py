"""vi's keys as a pure function: a key in a text, and what it changes. Nothing here knows the widget.

Supported are h j k l w b e 0 ^ $ gg G, the operators d c y with these and doubled, x D C i I a A o O p P u Ctrl+R, and
counts. Words are those of vi's small letters: letters, digits and underscores, or runs of other signs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from specchat.tui.widgets.vi_motions import ViCursor, first_of, indent_of, line_at, lines_from, target, word_to_change

_BEGUN = re.compile(r"([1-9]\d*)?([dcy]([1-9]\d*)?)?g?")
"""What is not a whole command yet: a count, an operator with a count, the first g of gg."""
_WHOLE = re.compile(r"([1-9]\d*)?([dcy]?)([1-9]\d*)?(gg|[^g1-9])", re.DOTALL)
_MOST = 999
"""The largest count."""

_OTHER_KEYS = {" ": "l", "backspace": "h", "D": "d$", "C": "c$", "ctrl+r": "\x12"}


@dataclass(frozen=True, slots=True)
class Vi:
    """What is known between two keys: the mode, the beginning of a command, and what was deleted or copied last.

    `kept` ends with a line end if it holds whole lines.
    """

    inserting: bool = True
    begun: str = ""
    kept: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """The cursor goes to this place in the text."""

    cursor: int


@dataclass(frozen=True, slots=True)
class Rows:
    """The cursor goes so many rows down, or up if the number is negative."""

    steps: int


@dataclass(frozen=True, slots=True)
class Edit:
    """`text` replaces what is from `start` to `end`. The cursor goes to `cursor`, or after the new text for None."""

    start: int
    end: int
    text: str = ""
    cursor: int | None = None


@dataclass(frozen=True, slots=True)
class Undo:
    """The last change is undone, or done again."""

    again: bool = False


Act = Move | Rows | Edit | Undo


@dataclass(frozen=True, slots=True)
class Pressed:
    """The state after a key, and what it does to the text; None for nothing."""

    vi: Vi
    act: Act | None = None


def press(vi: Vi, key: str, text: str, cursor: int) -> Pressed | None:
    """What a key does, given as its character or its name. None if the key is not vi's."""
    if vi.inserting:
        if key != "escape":
            return None
        return Pressed(replace(vi, inserting=False), Move(max(line_at(text, cursor)[0], cursor - 1)))
    if len(key) > 1 and key not in _OTHER_KEYS:
        return Pressed(replace(vi, begun="")) if vi.begun else None
    typed = vi.begun + _OTHER_KEYS.get(key, key)
    if _BEGUN.fullmatch(typed):
        return Pressed(replace(vi, begun=typed))
    vi = replace(vi, begun="")
    match = _WHOLE.fullmatch(typed)
    if match is None:
        return Pressed(vi)
    first, operator, second, name = match.groups()
    given = first is not None or second is not None
    count = min(_number(first) * _number(second), _MOST)
    at = ViCursor(text, cursor, count, given)
    if operator:
        return _operate(vi, at, operator, name)
    return _command(vi, at, name)


def _command(vi: Vi, at: ViCursor, name: str) -> Pressed:
    """A command without an operator. An unknown one does nothing."""
    start, end = at.line
    inserting = replace(vi, inserting=True)
    match name:
        case "j" | "k":
            return Pressed(vi, Rows(at.count if name == "j" else -at.count))
        case "i":
            return Pressed(inserting)
        case "a":
            return Pressed(inserting, Move(min(at.cursor + 1, end)))
        case "I":
            return Pressed(inserting, Move(first_of(at.text, start)))
        case "A":
            return Pressed(inserting, Move(end))
        case "o":
            return Pressed(inserting, Edit(end, end, "\n"))
        case "O":
            return Pressed(inserting, Edit(start, start, "\n", start))
        case "x":
            last = min(at.cursor + at.count, end)
            cut = at.text[at.cursor : last]
            return Pressed(replace(vi, kept=cut) if cut else vi, Edit(at.cursor, last) if cut else None)
        case "p" | "P":
            return Pressed(vi, _put(vi.kept * at.count, at, after=name == "p"))
        case "u":
            return Pressed(vi, Undo())
        case "\x12":
            return Pressed(vi, Undo(again=True))
    cursor = target(at, name)
    return Pressed(vi, None if cursor is None else Move(cursor))


def _operate(vi: Vi, at: ViCursor, operator: str, name: str) -> Pressed:
    """An operator over lines if it is doubled or the motion goes to a line, else over characters."""
    if name == operator:
        return _operate_on_lines(vi, at, operator, lines_from(at, at.count - 1))
    if name in ("j", "k"):
        return _operate_on_lines(vi, at, operator, lines_from(at, at.count if name == "j" else -at.count))
    if name in ("G", "gg"):
        goal = target(at, name) or 0
        ends = line_at(at.text, min(goal, at.cursor))[0], line_at(at.text, max(goal, at.cursor))[1]
        return _operate_on_lines(vi, at, operator, ends)
    cursor = word_to_change(at) if operator == "c" and name == "w" else target(at, name, operating=True)
    if cursor is None:
        return Pressed(vi)
    start, end = sorted((at.cursor, cursor))
    if name in ("e", "$") and at.text[end : end + 1] not in ("", "\n"):
        end += 1
    changed = replace(vi, inserting=operator == "c", kept=at.text[start:end] or vi.kept)
    if operator == "y":
        return Pressed(changed, Move(start))
    return Pressed(changed, Edit(start, end) if start < end else None)


def _operate_on_lines(vi: Vi, at: ViCursor, operator: str, ends: tuple[int, int]) -> Pressed:
    start, end = ends
    vi = replace(vi, inserting=operator == "c", kept=at.text[start:end] + "\n")
    if operator == "y":
        return Pressed(vi, Move(min(at.cursor, first_of(at.text, start))) if start < at.line[0] else None)
    if operator == "c":
        return Pressed(vi, Edit(start, end) if start < end else Move(start))
    if end < len(at.text):
        return Pressed(vi, Edit(start, end + 1, "", start + indent_of(at.text, end + 1)))
    above = max(start - 1, 0)
    return Pressed(vi, Edit(above, end, "", first_of(at.text, line_at(at.text, above)[0]) if start else 0))


def _put(text: str, at: ViCursor, *, after: bool) -> Edit | None:
    """What was kept, after or before the cursor or its line."""
    start, end = at.line
    if text.endswith("\n"):
        if after:
            return Edit(end, end, "\n" + text[:-1], end + 1 + indent_of(text, 0))
        return Edit(start, start, text, start + indent_of(text, 0))
    cursor = min(at.cursor + after, end)
    return Edit(cursor, cursor, text, cursor if "\n" in text else cursor + len(text) - 1) if text else None


def _number(count: str | None) -> int:
    """A count; 1 if there is none."""
    return 1 if count is None else min(int(count[:4]), _MOST)
