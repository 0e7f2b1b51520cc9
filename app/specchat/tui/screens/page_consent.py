"""The question whether pages that a message names may be fetched."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean_line


class PageConsentScreen(ModalScreen[bool]):
    """Shows the addresses and asks."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "dismiss(True)", "Fetch", id="pages.fetch"),
        Binding("escape,n", "dismiss(False)", "No", id="pages.no"),
    ]

    def __init__(self, pages: tuple[str, ...]) -> None:
        super().__init__()
        self._pages = pages

    def compose(self) -> ComposeResult:
        """A frame with the addresses and the keys."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Fetch this page?" if len(self._pages) == 1 else "Fetch these pages?"
            panel.border_subtitle = "Enter yes · Esc no"
            with VerticalScroll(id="asked"):
                yield Static(Content.styled("\n".join(map(clean_line, self._pages)), "bold"))
            yield Static(Content.styled("its server sees a request; the text goes with the message", "$quiet"))
