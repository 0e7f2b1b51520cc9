"""A conversation under its title."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from specchat.tui.transcript.transcript import Transcript


class ConversationPane(Vertical):
    """A transcript with a title that is shown while there are two of them."""

    DEFAULT_CSS: ClassVar[str] = """
    ConversationPane {
        width: 1fr;
        height: 1fr;
    }
    ConversationPane > Static {
        display: none;
        height: 1;
        padding: 0 2;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript
        self._title = Static()

    def compose(self) -> ComposeResult:
        """The title above the transcript."""
        yield self._title
        yield self.transcript

    def show_title(self, title: str, *, active: bool) -> None:
        """Shows the title with a sign that says whether what is written goes here. Only then keys go here, too."""
        sign, style = ("●", "bold $primary") if active else ("○", "$quiet")
        self._title.update(Content.styled(f"{sign} {title}", style))
        self._title.display = True
        self.transcript.can_focus = active

    def hide_title(self) -> None:
        """Shows the transcript alone."""
        self._title.display = False
        self.transcript.can_focus = True
