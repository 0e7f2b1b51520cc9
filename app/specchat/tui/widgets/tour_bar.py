"""The tour's voice: a few rows above the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

if TYPE_CHECKING:
    from specchat.tui.tour import Tour


class TourBar(Static):
    """Says where the visitor is and what to look at."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    TourBar {
        height: auto;
        max-height: 7;
        padding: 0 1;
        background: $panel;
        border-left: outer $accent;
    }
    """

    def show(self, tour: Tour) -> None:
        """Says the present step."""
        self.update(Content.assemble((tour.title, "bold"), "\n", tour.text))
