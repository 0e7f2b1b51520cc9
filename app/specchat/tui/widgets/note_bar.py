"""A note above the prompt, with as many rows as it needs."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

_LEAST_SECONDS = 3.0
_LETTERS_A_SECOND = 12.0


class NoteBar(Static):
    """Shows a text for as long as it takes to read; hidden without one."""

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

    def __init__(self) -> None:
        super().__init__()
        self._timer: Timer | None = None

    def show(self, text: str) -> None:
        """Shows a text; an empty one hides the bar."""
        if self._timer is not None:
            self._timer.stop()
        self.display = bool(text)
        self.update(Content(text))
        self._timer = self.set_timer(max(_LEAST_SECONDS, len(text) / _LETTERS_A_SECOND), self._hide)

    def _hide(self) -> None:
        self.display = False
