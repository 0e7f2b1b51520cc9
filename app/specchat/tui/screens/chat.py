"""The main screen: its keys and what they do."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.options import ChatOptions
from specchat.tui.archive import Archive
from specchat.tui.client import EngineClient
from specchat.tui.dials import DraftLengthDial
from specchat.tui.screens.conversation import ConversationScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.turn import TurnView
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.transcript import Transcript

_SECOND_PRESS = 2.0


class ChatScreen(ConversationScreen):
    """A conversation with keys for everything that can be done to it."""

    CSS_PATH = "chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("escape", "leave_knobs", "Back"),
        Binding("f2", "knobs", "Knobs"),
        Binding("f3", "view", "View"),
        Binding("ctrl+n", "new_chat", "New"),
        Binding("f1", "help", "Help"),
        Binding("ctrl+c", "copy_or_quit", "Copy or quit", show=False),
        Binding("ctrl+up,alt+up", "turn_k(1)", "Raise k", show=False),
        Binding("ctrl+down,alt+down", "turn_k(-1)", "Lower k", show=False),
    ]

    def __init__(self, options: ChatOptions, client: EngineClient, archive: Archive) -> None:
        super().__init__(options, client, archive)
        self._quit_pressed = float("-inf")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc is offered while there is something to stop, else while there is a panel to leave."""
        if action == "stop":
            return self._play is not None
        return action != "leave_knobs" or (self._play is None and self.is_mounted and self.has_class("-knobs"))

    def on_prompt_scrolled(self, message: Prompt.Scrolled) -> None:
        """Scrolls the transcript."""
        self.query_one(Transcript).move(message.where)

    def on_knobs_changed(self, message: Knobs.Changed) -> None:
        """Sends new settings to the engine at once."""
        self._apply(message.settings)

    def on_knobs_refused(self, message: Knobs.Refused) -> None:
        """Says why a value cannot be."""
        self._note(message.reason)

    def action_stop(self) -> None:
        """Stops the answer."""
        self._link.stop()
        self._note("stopping")

    def action_leave_knobs(self) -> None:
        """Goes back from the knobs to the prompt."""
        self.action_knobs()

    def action_knobs(self) -> None:
        """Shows or hides the knobs."""
        knobs = self.query_one(Knobs)
        knobs.display = not knobs.display
        self.set_class(knobs.display, "-knobs")
        if knobs.display:
            knobs.enter()
        else:
            self.query_one(Prompt).focus()
        self.refresh_bindings()

    def action_turn_k(self, steps: int) -> None:
        """Raises or lowers k from the next round on."""
        settings = self._session.settings
        if settings is not None:
            turned = DraftLengthDial(self._session.k_max).turned(settings, steps)
            self.query_one(Knobs).show(turned)
            self._apply(turned)
            self._note(f"k {turned.k} from the next round on" if turned.k != 0 else "k 0: plain decoding")

    async def action_view(self) -> None:
        """Shows the answer in view in another way; while one streams, the next ones stream that way too."""
        answer = self.query_one(Transcript).answer_in_view()
        if answer is not None:
            view = await answer.cycle_view()
            if answer.live:
                self._live_view = view

    async def action_new_chat(self) -> None:
        """An empty conversation with the same pair and settings."""
        if self._session.loaded is None:
            return
        if self._play is not None:
            self._link.forget()
            self._play = None
        self._session = self._session.renewed()
        await self.query_one(Transcript).clear()
        self._show_figures(TurnView())
        self._show_header()
        self.refresh_bindings()

    def action_help(self) -> None:
        """Shows the help."""
        self.app.push_screen(HelpScreen())

    def action_copy_or_quit(self) -> None:
        """Copies the selection; without one, the second press in two seconds quits."""
        selected = self.get_selected_text()
        if selected:
            self.app.copy_to_clipboard(selected)
            self.clear_selection()
            self._note("sent to the clipboard")
        elif monotonic() - self._quit_pressed < _SECOND_PRESS:
            self.app.exit()
        else:
            self._quit_pressed = monotonic()
            self._note("Ctrl+C again quits")
