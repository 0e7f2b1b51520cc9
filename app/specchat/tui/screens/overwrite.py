"""The question whether a file may be replaced."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.terminal.filter import clean_line
from specchat.tui.screens.question import QuestionScreen


class OverwriteScreen(QuestionScreen[bool]):
    """Shows the file and asks. Enter does not replace it."""

    KEYS = "y yes · Esc no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Replace", id="overwrite.replace"),
        Binding("escape,n", "dismiss(False)", "No", id="overwrite.no"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__("Replace this file?", clean_line(str(path)), "it exists; its content is lost")
