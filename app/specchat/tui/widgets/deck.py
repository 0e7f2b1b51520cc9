"""The controls of a replay: its position, its speed, and the row that shows them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Self

from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from specchat.traces.timeline import Playhead

SPEEDS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Factors of the recorded speed."""

_FOLLOWED = 6.0
"""Replays that would take fewer seconds than this start slower, so that people can follow them."""

_SOON = 1e-6
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Deck:
    """The state of a replay at one moment. `marks` are the seconds at which something new appears, ascending.

    A deck never changes: each method returns a new one. `now` is any monotonic clock in seconds.
    """

    marks: tuple[float, ...]
    head: Playhead

    @classmethod
    def of(cls, marks: Sequence[float]) -> Self:
        """A paused deck at the beginning, at a speed that people can follow."""
        duration = marks[-1] if marks else 0.0
        speeds = [speed for speed in SPEEDS if speed <= 1.0 and duration / speed >= _FOLLOWED]
        return cls(tuple(marks), Playhead(duration, speeds[-1] if speeds else SPEEDS[0]))

    def place(self, now: float) -> float:
        """Seconds on the recorded clock."""
        return self.head.position(now)

    def at_end(self, now: float) -> bool:
        """Whether the end is reached."""
        return self.place(now) >= self.head.duration

    def toggled(self, now: float) -> Self:
        """The deck paused if it plays, else playing; from the beginning if it was at the end."""
        running = self.head.playing and not self.at_end(now)
        return replace(self, head=self.head.paused(now) if running else self.head.played(now))

    def rested(self, now: float) -> Self:
        """The deck paused if it has reached the end."""
        return replace(self, head=self.head.paused(now)) if self.at_end(now) else self

    def stepped(self, marks: int, now: float) -> Self:
        """The deck paused, `marks` marks further on or back."""
        position = self.place(now)
        at = bisect_right(self.marks, position + _SOON) if marks > 0 else bisect_left(self.marks, position - _SOON)
        reached = at + marks - (marks > 0)
        seconds = self.marks[min(reached, len(self.marks) - 1)] if reached >= 0 and self.marks else 0.0
        return replace(self, head=self.head.paused(now).sought(seconds, now))

    def sought(self, seconds: float, now: float) -> Self:
        """The deck at another place."""
        return replace(self, head=self.head.sought(seconds, now))

    def faster(self, steps: int, now: float) -> Self:
        """The deck at the next speed, or the one before."""
        index = min(max(SPEEDS.index(self.head.speed) + steps, 0), len(SPEEDS) - 1)
        return replace(self, head=self.head.at_speed(SPEEDS[index], now))


def clock(seconds: float) -> str:
    """A time of a replay: `0:01.25`."""
    hundredths = round(seconds * 100)
    return f"{hundredths // 6000}:{hundredths % 6000 / 100:05.2f}"


def deck_line(deck: Deck, now: float, text: str, width: int) -> Content:
    """The controls in one row: state, clock, progress, speed, and `text`."""
    position, duration = deck.place(now), deck.head.duration
    ended = deck.at_end(now)
    sign = "■" if ended else "▶" if deck.head.playing else "❚❚"
    left = f"{sign:<2} {clock(position)} / {clock(duration)}  "
    right = f"  × {deck.head.speed:g}  {text}"
    room = width - len(left) - len(right)
    if room < _NARROWEST:
        return Content.assemble((left, "bold"), right.strip()).truncate(width)
    done = room if ended else int(room * position / duration)
    return Content.assemble((left, "bold"), ("━" * done, "$primary"), ("─" * (room - done), "$quiet"), right)


_FRAME = 1 / 15


class DeckBar(Static):
    """Holds the deck and posts `Moved` when it is at another place."""

    ALLOW_SELECT = False

    @dataclass
    class Moved(Message):
        """The replay is at another place, in seconds."""

        seconds: float

    def __init__(self, deck: Deck, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._deck = deck
        self._note = ""

    @property
    def place(self) -> float:
        """Seconds on the recorded clock."""
        return self._deck.place(monotonic())

    @property
    def at_end(self) -> bool:
        """Whether the end is reached."""
        return self._deck.at_end(monotonic())

    def on_mount(self) -> None:
        """Start to play."""
        self.set_interval(_FRAME, self._tick)
        self.toggle()

    def begin(self, deck: Deck) -> None:
        """Play another replay."""
        self._turn(deck.toggled(monotonic()))

    def show_note(self, text: str) -> None:
        """Show this text after the controls."""
        self._note = text
        self._draw()

    def toggle(self) -> None:
        """Play or pause."""
        self._turn(self._deck.toggled(monotonic()))

    def step(self, marks: int) -> None:
        """Pause, `marks` marks further."""
        self._turn(self._deck.stepped(marks, monotonic()))

    def faster(self, steps: int) -> None:
        """Change the speed."""
        self._turn(self._deck.faster(steps, monotonic()))

    def go(self, *, end: bool) -> None:
        """Go to the beginning or the end."""
        self._turn(self._deck.sought(self._deck.head.duration if end else 0.0, monotonic()))

    def on_resize(self) -> None:
        """Draw the row at its new width."""
        self._draw()

    def _turn(self, deck: Deck) -> None:
        self._deck = deck
        self.post_message(self.Moved(self.place))
        self._draw()

    def _tick(self) -> None:
        if not self._deck.head.playing:
            return
        self._turn(self._deck.rested(monotonic()))

    def _draw(self) -> None:
        if self.size.width:
            self.update(deck_line(self._deck, monotonic(), self._note, self.size.width), layout=False)
