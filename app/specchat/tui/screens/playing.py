"""The keys of a screen on which something recorded is played: all of them turn the deck."""

from __future__ import annotations

from textual.binding import Binding
from textual.screen import Screen

from specchat.tui.widgets.deck_bar import DeckBar


def deck_bindings(scope: str) -> tuple[Binding, ...]:
    """The keys of a deck, whose ids begin with the name of the screen that has it."""
    return (
        Binding("space", "pause", "Play, pause", id=f"{scope}.pause"),
        Binding("left", "round(-1)", "Round", key_display="← →", id=f"{scope}.round_back"),
        Binding("right", "round(1)", "Round after", show=False, id=f"{scope}.round_on"),
        Binding("plus,equals_sign,up", "faster(1)", "Speed", key_display="+ -", id=f"{scope}.faster_on"),
        Binding("minus,down", "faster(-1)", "Slower", show=False, id=f"{scope}.faster_back"),
        Binding("home", "go(False)", "Ends", key_display="home end", id=f"{scope}.go_start"),
        Binding("end", "go(True)", "End", show=False, id=f"{scope}.go_end"),
    )


class PlayingScreen(Screen[None]):
    """A screen with one deck."""

    def action_pause(self) -> None:
        """Plays or pauses."""
        self.query_one(DeckBar).toggle()

    def action_round(self, steps: int) -> None:
        """To where the next round was done, or the one before."""
        self.query_one(DeckBar).step(steps)

    def action_faster(self, steps: int) -> None:
        """Another speed."""
        self.query_one(DeckBar).faster(steps)

    def action_go(self, end: bool) -> None:
        """To the beginning or the end."""
        self.query_one(DeckBar).go(end=end)
