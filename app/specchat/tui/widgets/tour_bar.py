"""The text of the tour, in a few rows above the prompt."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static


class TourBar(Static):
    """Says where the visitor is and what to look at; hidden outside the tour."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = """
    TourBar {
        height: auto;
        max-height: 7;
        padding: 0 1;
        display: none;
        background: $panel;
        border-left: outer $accent;
    }
    """

    def show(self, title: str, text: str) -> None:
        """Shows a step of the tour."""
        self.display = True
        self.update(Content.assemble((title, "bold"), "\n", text))
