"""The question whether a call may be made."""

from __future__ import annotations

import json
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.terminal.filter import clean, clean_line
from specchat.tools.consent import ConsentAnswer
from specchat.tools.tool import Tool


class ToolConsent(ModalScreen[ConsentAnswer]):
    """Shows the tool, where it is and all arguments, and asks.

    It may open while the user is writing a message. So keys are shown and count only after a pause without any, and
    nobody allows a call by accident.
    """

    PAUSE: ClassVar[float] = 0.6
    """Seconds without a key after which somebody who was writing has stopped."""

    CSS_PATH = "consent.tcss"
    AUTO_FOCUS = "#asked"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y,enter", "say('once')", "Once", id="tool_consent.once"),
        Binding("a", "say('always')", "In this chat", id="tool_consent.always"),
        Binding("escape,n", "say('no')", "No", id="tool_consent.no"),
    ]

    def __init__(self, tool: Tool, arguments: str, where: str, *, host: str = "") -> None:
        """`where` is the command or host of the tool's server; `host` is where the model reads the result."""
        super().__init__()
        self._tool = tool
        self._arguments = arguments
        self._where = where
        self._host = host
        self.accepts = False
        """Whether keys count."""

    def compose(self) -> ComposeResult:
        """A frame with the tool, its server, the arguments, and the keys."""
        with Vertical(id="panel") as panel:
            panel.border_title = "May the model call this tool?"
            yield Static(Content.styled(clean_line(self._tool.called), "bold"), id="tool")
            server = f"{self._tool.server}: " if self._tool.server else ""
            yield Static(Content.styled(clean_line(f"{server}{self._where}"), "$quiet"), id="where")
            if self._host:
                yield Static(Content.styled(clean_line(f"the result goes to {self._host}"), "$quiet"), id="host")
            with VerticalScroll(id="asked"):
                yield Static(Content(clean(_lines_of(self._arguments))))

    def on_mount(self) -> None:
        """Waits for the pause."""
        self._pause = self.set_timer(self.PAUSE, self._accept)

    def on_key(self, event: Key) -> None:
        """Ignores what was meant for the prompt."""
        if not self.accepts:
            self._pause.reset()
            event.stop()
            event.prevent_default()

    def _accept(self) -> None:
        self.accepts = True
        self.query_one("#panel").border_subtitle = "Enter once · a always in this chat · n no"

    def action_say(self, verdict: str) -> None:
        """Closes with this verdict."""
        self.dismiss(ConsentAnswer(verdict))


def _lines_of(arguments: str) -> str:
    """Each argument on a line of its own; text that is no JSON as it is."""
    try:
        values = json.loads(arguments)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        return arguments
    return "\n".join(f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items()) or (
        "no arguments"
    )
