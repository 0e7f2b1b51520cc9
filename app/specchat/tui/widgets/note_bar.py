"""A note above the prompt, with as many rows as it needs."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static


class NoteBar(Static):
    """Shows a text until the next key; hidden without one."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = """
    NoteBar {
        height: auto;
        max-height: 7;
        padding: 0 1;
        display: none;
        color: $text-warning;
        text-style: bold;
        background: $panel;
    }
    """

    text = ""
    """What it shows; empty while it is hidden."""

    def show(self, text: str) -> None:
        """Shows a text; an empty one hides the bar."""
        if text != self.text:
            self.text = text
            self.display = bool(text)
            self.update(Content(text))
