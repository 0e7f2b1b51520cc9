"""The question whether a file may be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean_line


class OverwriteScreen(ModalScreen[bool]):
    """Shows the file and asks. Enter does not replace it."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Replace", id="overwrite.replace"),
        Binding("escape,n", "dismiss(False)", "No", id="overwrite.no"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def compose(self) -> ComposeResult:
        """A frame with the path and the keys."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Replace this file?"
            panel.border_subtitle = "y yes · Esc no"
            with VerticalScroll(id="asked"):
                yield Static(Content.styled(clean_line(str(self._path)), "bold"))
            yield Static(Content.styled("it exists; its content is lost", "$quiet"))
