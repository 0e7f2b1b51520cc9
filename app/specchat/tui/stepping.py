"""Step mode: whether answers wait before each round, and at what pace they are let go on."""

from __future__ import annotations

from typing import NamedTuple, Self

from textual.content import Content

SPEEDS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Rounds a second in slow motion."""

_SIGN = {True: "▷", False: "❚❚"}
_ANYWHERE = (("F5", "one round"), ("Shift+F5", "goes on"))
_HELD = (("F5 space", "one round"), ("+", "slow motion"), ("Enter", "goes on"))
_MOVING = (("+ -", "faster, slower"), ("F5 space", "holds"), ("Enter", "goes on"))
_WAITING = (("F5", "leaves step mode"),)


class Stepping(NamedTuple):
    """The mode at one moment. `moving` is slow motion, at `speed` rounds a second."""

    on: bool = False
    moving: bool = False
    speed: float = 2.0

    def turned(self, on: bool) -> Self:
        """Answers are frozen from now on, or go on at full speed."""
        return self._replace(on=on, moving=False)

    def held(self) -> Self:
        """No slow motion: one round a key."""
        return self._replace(moving=False)

    def at_pace(self, steps: int) -> Self:
        """Slow motion, begun at the speed it had last, or so many steps faster or slower where it runs already."""
        if not self.moving:
            return self._replace(moving=True)
        place = min(max(SPEEDS.index(self.speed) + steps, 0), len(SPEEDS) - 1)
        return self._replace(speed=SPEEDS[place])


def bar_line(stepping: Stepping, rounds: int | None, width: int, *, writing: bool = False) -> Content:
    """The mode and its keys in `width` cells, what does not fit left out from the right.

    `rounds` are those of the running answer, None where none runs. While the user is `writing`, only keys that type
    nothing are offered.
    """
    keys: tuple[tuple[str, str], ...]
    if rounds is None:
        told, keys = "step mode: the next answer waits before its first round", _WAITING
    elif stepping.moving:
        told, keys = f"slow motion, {stepping.speed:g} rounds/s · round {rounds}", _ANYWHERE if writing else _MOVING
    else:
        told, keys = f"frozen after round {rounds}", _ANYWHERE if writing else _HELD
    line = Content.assemble((f"{_SIGN[stepping.moving]} {told}", "bold $text-accent"))
    for key, does in keys if rounds is None else (*keys, ("Esc", "stops")):
        longer = Content("").join([line, Content.assemble("   ", (key, "bold $primary"), f" {does}")])
        if longer.cell_length > width:
            break
        line = longer
    return line.truncate(width)
