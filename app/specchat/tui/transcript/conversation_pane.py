"""A conversation under its title."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from specchat.tui.transcript.transcript import Transcript


class PaneTitle(Static):
    """One row that can be clicked."""

    class Clicked(Message):
        """The title was clicked."""

    def on_click(self, event: Click) -> None:
        """Reports that it was clicked."""
        event.stop()
        self.post_message(self.Clicked())


class ConversationPane(Vertical):
    """A transcript with a title that is shown while there are two of them."""

    class Chosen(Message):
        """The title was clicked: the user wants to go to this conversation."""

        def __init__(self, pane: ConversationPane) -> None:
            super().__init__()
            self.pane = pane

    DEFAULT_CSS: ClassVar[str] = """
    ConversationPane {
        width: 1fr;
        height: 1fr;
    }
    ConversationPane.-second {
        border-left: solid $border;
    }
    PaneTitle {
        display: none;
        height: 1;
        padding: 0 2;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, transcript: Transcript, *, second: bool = False) -> None:
        """A line separates the `second` one from the first."""
        super().__init__(classes="-second" if second else "")
        self.transcript = transcript
        self._title = PaneTitle()

    def compose(self) -> ComposeResult:
        """The title above the transcript."""
        yield self._title
        yield self.transcript

    def on_pane_title_clicked(self, message: PaneTitle.Clicked) -> None:
        """Reports which conversation the user wants."""
        message.stop()
        self.post_message(self.Chosen(self))

    def show_title(self, title: str, *, active: bool) -> None:
        """Shows the title with a sign that says whether what is written goes here. Only then keys go here, too."""
        sign, style = ("●", "bold $primary") if active else ("○", "$quiet")
        self._title.update(Content.styled(f"{sign} {title}", style))
        self._title.display = True
        self.transcript.can_focus = active

    def stand_alone(self) -> None:
        """Shows the transcript without a title, as there is no other one."""
        self.remove_class("-second")
        self._title.display = False
        self.transcript.can_focus = True
