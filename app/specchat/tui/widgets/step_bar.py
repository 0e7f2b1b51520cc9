"""The bars above the prompt: step mode with the keys that let an answer go on, and the text of the tour."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from textual.content import Content
from textual.widgets import Static

SPEEDS = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0)
"""Rounds a second in slow motion."""

_SIGN = {True: "▷", False: "❚❚"}
_HELD_WRITING = (("F5", "one round"), ("Shift+F5", "goes on"))
_MOVING_WRITING = (("F5", "holds"), ("Shift+F5", "goes on"))
_HELD = (("F5 space", "one round"), ("+", "slow motion"), ("Enter", "goes on"))
_MOVING = (("+ -", "faster, slower"), ("F5 space", "holds"), ("Enter", "goes on"))
_WAITING = (("F5", "leaves step mode"),)


@dataclass(frozen=True, slots=True)
class Stepping:
    """Step mode at one moment. `moving` is slow motion, at `speed` rounds a second."""

    on: bool = False
    moving: bool = False
    speed: float = 2.0

    def turned(self, on: bool) -> Self:
        """Step mode switched on, with answers frozen, or off."""
        return replace(self, on=on, moving=False)

    def held(self) -> Self:
        """Without slow motion: one round a key."""
        return replace(self, moving=False)

    def at_pace(self, steps: int) -> Self:
        """In slow motion at the last speed; `steps` faster or slower if it is in slow motion already."""
        if not self.moving:
            return replace(self, moving=True)
        index = min(max(SPEEDS.index(self.speed) + steps, 0), len(SPEEDS) - 1)
        return replace(self, speed=SPEEDS[index])


class StepBar(Static):
    """Shows step mode; hidden while it is off."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = "StepBar { height: 1; padding: 0 1; display: none; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Stepping, int | None, bool] = (Stepping(), None, False)

    def show(self, stepping: Stepping, rounds: int | None, *, writing: bool) -> None:
        """Shows the mode; the arguments are those of `bar_line`."""
        self._shown = stepping, rounds, writing
        self._draw()

    def on_resize(self) -> None:
        """Fits the row to the new width."""
        self._draw()

    def _draw(self) -> None:
        stepping, rounds, writing = self._shown
        if self.size.width:
            self.update(bar_line(stepping, rounds, self.size.width, writing=writing), layout=False)


def bar_line(stepping: Stepping, rounds: int | None, width: int, *, writing: bool = False) -> Content:
    """The mode and its keys in `width` cells; keys that do not fit are left out from the right.

    `rounds` is the number of rounds of the running answer, None if there is none. While the user is `writing`, only
    keys that type nothing are offered.
    """
    keys: tuple[tuple[str, str], ...]
    if rounds is None:
        words, keys = "step mode: the next answer waits before its first round", _WAITING
    elif stepping.moving:
        words, keys = (
            f"slow motion, {stepping.speed:g} rounds/s · round {rounds}",
            _MOVING_WRITING if writing else _MOVING,
        )
    else:
        words, keys = f"frozen after round {rounds}", _HELD_WRITING if writing else _HELD
    line = Content.assemble((f"{_SIGN[stepping.moving]} {words}", "bold $text-accent"))
    for key, does in keys if rounds is None else (*keys, ("Esc", "stops")):
        longer = Content("").join([line, Content.assemble("   ", (key, "bold $primary"), f" {does}")])
        if longer.cell_length > width:
            break
        line = longer
    return line.truncate(width)


class TourBar(Static):
    """Says where the visitor is and what to look at; hidden outside the tour."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = """
    TourBar {
        height: auto;
        max-height: 7;
        padding: 0 1;
        display: none;
        background: $panel;
        border-left: outer $accent;
    }
    """

    def show(self, title: str, text: str) -> None:
        """Shows a step of the tour."""
        self.display = True
        self.update(Content.assemble((title, "bold"), "\n", text))
