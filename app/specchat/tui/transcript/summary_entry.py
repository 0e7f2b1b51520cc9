"""The summary that the model reads in place of the oldest turns."""

from __future__ import annotations

from specchat.terminal.pieces import Clickable, Piece, shown
from specchat.tui.transcript.body import TOGGLE_THOUGHT
from specchat.tui.transcript.entries import TextEntry


class SummaryEntry(TextEntry):
    """One line that says what happened. It unfolds to the summary, as a thought does."""

    can_be_selected = True
    edge = "$border"
    has_thoughts = True

    def __init__(self, summary: str) -> None:
        super().__init__([])
        self._summary = shown(summary)
        self._folded = True
        self._write()

    @property
    def raw(self) -> str:
        """The summary."""
        return self._summary

    def toggle_thought(self, number: int | None = None) -> bool:
        """Unfold or fold the summary. Returns True."""
        self._folded = not self._folded
        self._write()
        self.forget()
        self.changed()
        return True

    def _write(self) -> None:
        words = len(self._summary.split())
        head = f"{'▸' if self._folded else '▾'} the model reads a summary in place of the oldest turns · {words} words"
        text = [] if self._folded else [Piece(f"\n{self._summary}", "$quiet")]
        self._pieces = [Piece(head, Clickable("$quiet", TOGGLE_THOUGHT, "0")), *text]
