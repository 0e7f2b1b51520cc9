"""Questions before something happens, each with its subject in a frame and the keys that answer."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean, clean_line
from specchat.tools.consent import ConsentAnswer

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


class OverwriteScreen(QuestionScreen[bool]):
    """Asks whether a file may be replaced. Enter does not replace it."""

    KEYS = "y yes · Esc no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Replace", id="overwrite.replace"),
        Binding("escape,n", "dismiss(False)", "No", id="overwrite.no"),
    ]

    def __init__(self, path: Path) -> None:
        super().__init__("Replace this file?", clean_line(str(path)), "it exists; its content is lost")


class PageConsentScreen(QuestionScreen[bool]):
    """Asks whether pages that a message names may be fetched."""

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


class ConsentScreen(QuestionScreen[ConsentAnswer]):
    """Asks whether a shell command may run."""

    KEYS = "Enter once · a in this chat · Esc no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "say('once')", "Once", id="consent.once"),
        Binding("a", "say('always')", "In this chat", id="consent.chat"),
        Binding("escape,n", "say('no')", "No", id="consent.no"),
    ]

    def __init__(self, command: str, folder: Path, host: str = "") -> None:
        """`host` is the server that gets the output with the next message; empty without one."""
        where = f"in {clean_line(str(folder))}; its output goes with the next message{f' to {host}' if host else ''}"
        super().__init__("Run this command?", clean(command), where)

    def action_say(self, verdict: str) -> None:
        """Closes with this verdict."""
        self.dismiss(ConsentAnswer(verdict))
