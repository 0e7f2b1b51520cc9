"""The controls of a replay in one row, and the clock that moves them."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from textual.message import Message
from textual.widgets import Static

from specchat.tui.playback import Deck, deck_line

_FRAME = 1 / 15


class DeckBar(Static):
    """Holds the deck: whoever shows what is played does so when it has `Moved`."""

    ALLOW_SELECT = False

    @dataclass
    class Moved(Message):
        """The replay stands at another place now, in seconds."""

        seconds: float

    def __init__(self, deck: Deck, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._deck = deck
        self._told = ""

    @property
    def place(self) -> float:
        """Seconds on the recorded clock."""
        return self._deck.place(monotonic())

    @property
    def at_end(self) -> bool:
        """Whether nothing more will come."""
        return self._deck.at_end(monotonic())

    def on_mount(self) -> None:
        """Plays as soon as it is seen."""
        self.set_interval(_FRAME, self._tick)
        self.toggle()

    def begin(self, deck: Deck) -> None:
        """Plays another replay."""
        self._turn(deck.toggled(monotonic()))

    def tell(self, text: str) -> None:
        """What stands behind the controls."""
        self._told = text
        self._draw()

    def toggle(self) -> None:
        """Plays or pauses."""
        self._turn(self._deck.toggled(monotonic()))

    def step(self, marks: int) -> None:
        """Pauses, so many marks further."""
        self._turn(self._deck.stepped(marks, monotonic()))

    def faster(self, steps: int) -> None:
        """Another speed."""
        self._turn(self._deck.faster(steps, monotonic()))

    def go(self, *, end: bool) -> None:
        """To the beginning or to the end."""
        self._turn(self._deck.sought(self._deck.head.duration if end else 0.0, monotonic()))

    def on_resize(self) -> None:
        """Draws the row at its new width."""
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
            self.update(deck_line(self._deck, monotonic(), self._told, self.size.width), layout=False)
