"""A shell command in the conversation."""

from __future__ import annotations

from collections.abc import Sequence

from specchat.terminal.pieces import Piece, shown
from specchat.terminal.shell import CommandOutput
from specchat.tui.transcript.entries import TextEntry

_SHOWN_LINES = 12
_WAITS, _WENT, _DROPPED = "goes with the next message", "went with your message", "was not sent"


class CommandEntry(TextEntry):
    """A shell command with the end of its output, and how it ended."""

    can_be_selected = True
    edge = "$border"

    def __init__(self, command: str) -> None:
        super().__init__([])
        self._command = shown(command)
        self._output = ""
        self._ended: CommandOutput | None = None
        self._way = ""
        self.show("", "runs; Esc stops it")

    @property
    def raw(self) -> str:
        """The output."""
        return self._output

    def finish(self, output: CommandOutput) -> None:
        """Shows the whole output, and how the command ended."""
        self._ended = output
        self.show(output.text, output.ending)

    def show_way(self, waiting: Sequence[CommandOutput], sent: Sequence[CommandOutput]) -> None:
        """Says whether the output is among those that wait for a message, or that went with the last one."""
        output, before = self._ended, self._way
        if output is None:
            return
        if any(output is other for other in waiting):
            self._way = _WAITS
        elif any(output is other for other in sent):
            self._way = _WENT
        elif before == _WAITS:
            self._way = _DROPPED
        if self._way != before:
            self.show(output.text, f"{output.ending} · {self._way}")

    def show(self, output: str, status: str) -> None:
        """Shows the output so far and a line about it. The output must have passed the filter."""
        self._output = output
        lines = output.splitlines()
        above = len(lines) - _SHOWN_LINES
        rows = [f"… {above} line{'' if above == 1 else 's'} above", *lines[-_SHOWN_LINES:]] if above > 0 else lines
        self._pieces = [
            Piece(f"! {self._command}", "bold"),
            *(Piece(f"\n{row}", "$quiet" if above > 0 and not index else "") for index, row in enumerate(rows)),
            Piece(f"\n{status}", "$quiet"),
        ]
        self.forget()
        self.changed()
