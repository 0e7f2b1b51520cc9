"""A shell command in the conversation."""

from __future__ import annotations

from specchat.terminal.pieces import Piece, shown
from specchat.tui.transcript.entries import TextEntry

_SHOWN_LINES = 12


class CommandEntry(TextEntry):
    """A shell command with the end of its output, and how it ended."""

    can_be_selected = True
    edge = "$border"

    def __init__(self, command: str) -> None:
        super().__init__([])
        self._command = shown(command)
        self._output = ""
        self.show("", "runs; Esc stops it")

    @property
    def raw(self) -> str:
        """The output."""
        return self._output

    def show(self, output: str, status: str) -> None:
        """Shows the output so far and a line about it. The output must have passed the filter."""
        self._output = output
        lines = output.splitlines()
        above = len(lines) - _SHOWN_LINES
        rows = [f"… {above} line{'' if above == 1 else 's'} above", *lines[-_SHOWN_LINES:]] if above > 0 else lines
        self._pieces = [
            Piece(f"! {self._command}", "bold"),
            *(Piece(f"\n{row}", "$quiet" if above > 0 and not place else "") for place, row in enumerate(rows)),
            Piece(f"\n{status}", "$quiet"),
        ]
        self.forget()
        self.changed()
