"""The question whether pages that a message names may be fetched."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.terminal.filter import clean_line
from specchat.tui.screens.question import QuestionScreen


class PageConsentScreen(QuestionScreen[bool]):
    """Shows the addresses and asks."""

    KEYS = "Enter yes · Esc no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "dismiss(True)", "Fetch", id="pages.fetch"),
        Binding("escape,n", "dismiss(False)", "No", id="pages.no"),
    ]

    def __init__(self, pages: tuple[str, ...]) -> None:
        super().__init__(
            "Fetch this page?" if len(pages) == 1 else "Fetch these pages?",
            "\n".join(map(clean_line, pages)),
            "its server sees a request; the text goes with the message",
        )
