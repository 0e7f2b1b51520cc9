"""The window of a question before something happens: what it is about, in a frame, and the keys that answer."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

Answer = TypeVar("Answer")


class AskingScreen(ModalScreen[Answer], Generic[Answer]):
    """Asks a question. Its bindings close it with an answer."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    KEYS: ClassVar[str] = ""
    """The keys that answer, in words."""

    def __init__(self, question: str, asked: str, about: str) -> None:
        """The question stands above what is `asked` about, and what follows from a yes below it. Both are shown as they
        are, so they must have passed the filter."""
        super().__init__()
        self._question, self._asked, self._about = question, asked, about

    def compose(self) -> ComposeResult:
        """A frame with all that."""
        with Vertical(id="panel") as panel:
            panel.border_title = self._question
            panel.border_subtitle = self.KEYS
            with VerticalScroll(id="asked"):
                yield Static(Content.styled(self._asked, "bold"))
            yield Static(Content.styled(self._about, "$quiet"))
