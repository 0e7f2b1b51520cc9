"""The question whether a shell command may run."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.terminal.filter import clean, clean_line
from specchat.tools.consent import Verdict
from specchat.tui.screens.question import QuestionScreen


class ConsentScreen(QuestionScreen[Verdict]):
    """Shows the command and asks."""

    KEYS = "Enter once · a in this chat · Esc no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "say('once')", "Once", id="consent.once"),
        Binding("a", "say('always')", "In this chat", id="consent.chat"),
        Binding("escape,n", "say('no')", "No", id="consent.no"),
    ]

    def __init__(self, command: str, folder: Path, host: str = "") -> None:
        """`host` is the server that gets the output with the next message; empty without one."""
        where = f"in {clean_line(str(folder))}; its output goes with the next message{f' to {host}' if host else ''}"
        super().__init__("Run this command?", clean(command), where)

    def action_say(self, verdict: str) -> None:
        """Closes with this verdict."""
        self.dismiss(Verdict(verdict))
