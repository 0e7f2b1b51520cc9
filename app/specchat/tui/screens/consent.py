"""The question whether a shell command may run."""

from __future__ import annotations

from enum import Enum, auto
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean, clean_line


class Consent(Enum):
    """For what the user has agreed."""

    ONCE = auto()
    CHAT = auto()


class ConsentScreen(ModalScreen[Consent | None]):
    """Shows the command and asks; None if the user does not agree."""

    CSS_PATH = "consent.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "agree('ONCE')", "Once", id="consent.once"),
        Binding("a", "agree('CHAT')", "In this chat", id="consent.chat"),
        Binding("escape,n", "refuse", "No", id="consent.no"),
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
            yield Static(Content.styled(clean(self._command), "bold"), id="command")
            where = f"in {clean_line(str(self._folder))}; the next message takes its output along"
            yield Static(Content.styled(f"{where}{f' to {self._host}' if self._host else ''}", "$quiet"))

    def action_agree(self, consent: str) -> None:
        """Runs the command."""
        self.dismiss(Consent[consent])

    def action_refuse(self) -> None:
        """Goes back to the prompt."""
        self.dismiss(None)
