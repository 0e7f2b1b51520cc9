"""A question before something happens: its subject in a frame, and the keys that answer."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

Reply = TypeVar("Reply")


class QuestionScreen(ModalScreen[Reply], Generic[Reply]):
    """Asks a question. The bindings of a subclass close it with a reply."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    KEYS: ClassVar[str] = ""
    """The keys that answer, in words."""

    def __init__(self, question: str, subject: str, consequence: str) -> None:
        """Shows the question as the title, its `subject` in the frame and the `consequence` of a yes below. These must
        have passed the terminal filter."""
        super().__init__()
        self._question, self._subject, self._consequence = question, subject, consequence

    def compose(self) -> ComposeResult:
        """Yields the frame."""
        with Vertical(id="panel") as panel:
            panel.border_title = self._question
            panel.border_subtitle = self.KEYS
            with VerticalScroll(id="asked"):
                yield Static(Content.styled(self._subject, "bold"))
            yield Static(Content.styled(self._consequence, "$quiet"))
