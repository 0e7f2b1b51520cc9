"""The question whether a shell command may run."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean, clean_line
from specchat.tools.consent import Verdict


class ConsentScreen(ModalScreen[Verdict]):
    """Shows the command and asks."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "say('once')", "Once", id="consent.once"),
        Binding("a", "say('always')", "In this chat", id="consent.chat"),
        Binding("escape,n", "say('no')", "No", id="consent.no"),
    ]

    def __init__(self, command: str, folder: Path, host: str = "") -> None:
        """`host` is the server that gets the output with the next message; empty without one."""
        super().__init__()
        self._command = command
        self._folder = folder
        self._host = host

    def compose(self) -> ComposeResult:
        """A frame with the command, where it runs, and the keys."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Run this command?"
            panel.border_subtitle = "Enter once · a in this chat · Esc no"
            with VerticalScroll(id="asked"):
                yield Static(Content.styled(clean(self._command), "bold"))
            where = f"in {clean_line(str(self._folder))}; its output goes with the next message"
            yield Static(Content.styled(f"{where}{f' to {self._host}' if self._host else ''}", "$quiet"))

    def action_say(self, verdict: str) -> None:
        """Closes with this verdict."""
        self.dismiss(Verdict(verdict))
