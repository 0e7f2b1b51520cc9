"""The main screen: its keys and what they do. What a key opens is imported when it is pressed."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from specchat.chat.archive import Archive
from specchat.chat.client import EngineClient
from specchat.errors import SpecchatError
from specchat.settings.options import ChatOptions
from specchat.tui.screens.acting import ActingScreen
from specchat.tui.screens.advising import AdvisingScreen
from specchat.tui.screens.panels import PanelsScreen
from specchat.tui.screens.reloading import ReloadingScreen
from specchat.tui.screens.resuming import ResumingScreen
from specchat.tui.screens.seeing import SeeingScreen
from specchat.tui.screens.stepping import SteppingScreen
from specchat.tui.screens.touring import TouringScreen
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.chat.commands.invocations import Invocation
    from specchat.chat.presetting import OfPresets

_SECOND_PRESS = 2.0


class ChatScreen(
    ResumingScreen,
    TouringScreen,
    PanelsScreen,
    AdvisingScreen,
    SeeingScreen,
    SteppingScreen,
    ActingScreen,
    ReloadingScreen,
):
    """A conversation with all that can be done to it, one capability beside the other, and keys for them."""

    AUTO_FOCUS = "Prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("escape", "leave_knobs", "Back", id="chat.leave_knobs"),
        Binding("escape", "leave_tour", "Leave tour", id="chat.leave_tour"),
        Binding("f1", "help", "Help", id="chat.help"),
        Binding("f2", "knobs", "Knobs", id="chat.knobs"),
        Binding("f3", "view", "View", id="chat.view"),
        Binding("f8", "models", "Models", id="chat.models"),
        Binding("ctrl+o", "sessions", "Sessions", id="chat.sessions"),
        Binding("ctrl+n", "new_chat", "New", id="chat.new"),
        Binding("f4", "inspect", "Inspect", id="chat.inspect"),
        Binding("f5", "step", "Step", id="chat.step"),
        Binding("f6", "race", "Race", id="chat.race"),
        Binding("f7", "statistics", "Stats", id="chat.statistics"),
        Binding("f9", "figures", "Figures", id="chat.figures"),
        Binding("ctrl+c", "copy_or_quit", "Copy or quit", show=False, id="chat.copy_or_quit"),
        Binding("ctrl+z", "app.suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
        Binding("ctrl+up,alt+up", "turn_k(1)", "Raise k", show=False, id="chat.raise_k"),
        Binding("ctrl+down,alt+down", "turn_k(-1)", "Lower k", show=False, id="chat.lower_k"),
    ]

    def __init__(self, options: ChatOptions, client: EngineClient, archive: Archive) -> None:
        super().__init__(options, client, archive)
        self._quit_pressed = float("-inf")
        self.own_keys: Mapping[str, str] = {}
        """The keys of the user's own choice, by their binding, for the help."""

    @property
    def settings(self) -> Settings | None:
        """The settings in force; None until a pair is loaded."""
        return self._session.settings

    def note(self, text: str) -> None:
        """Says something for a moment."""
        self._note(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc is offered while there is something to stop, else while there is a panel to leave."""
        if action == "stop":
            return self._play is not None
        if action == "leave_knobs":
            return self._play is None and self.is_mounted and self.has_class("-knobs")
        return super().check_action(action, parameters)

    async def on_prompt_commanded(self, message: Prompt.Commanded) -> None:
        """Does what was written behind a slash."""
        from specchat.tui.screens.dispatch import perform

        await perform(self, message.invocation)

    def on_prompt_refused(self, message: Prompt.Refused) -> None:
        """Says why what was written cannot be."""
        self._note(message.reason)

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

    async def action_leave_knobs(self) -> None:
        """Goes back from the knobs to the prompt."""
        await self.action_knobs()

    async def action_knobs(self) -> None:
        """Shows or hides the knobs; those of loading are there from the first time on."""
        knobs = self.query_one(Knobs)
        knobs.display = not knobs.display
        self.set_class(knobs.display, "-knobs")
        if knobs.display:
            await self.show_load_knobs()
            await knobs.enter()
        else:
            self.query_one(Prompt).focus()
        self.refresh_bindings()

    def action_turn_k(self, steps: int) -> None:
        """Raises or lowers k from the next round on."""
        from specchat.chat.knobs import live_knobs

        if self.settings is not None:
            turned = live_knobs((), self._session.k_max)["k"].turned(self.settings, steps)
            self.turn_to(turned)
            self._note(f"k {turned.k} from the next round on" if turned.k != 0 else "k 0: plain decoding")

    def turn_to(self, settings: Settings) -> None:
        """Other settings from the next round on."""
        self.query_one(Knobs).show(settings)
        self._apply(settings)

    async def preset(self, invocation: OfPresets) -> None:
        """Templates of sampling parameters; a list stays in the conversation, the rest is said for a moment."""
        from specchat.chat.presetting import do_preset

        loaded = self._session.loaded
        if self.settings is None or loaded is None:
            self._note("the model is still loading")
            return
        try:
            done = do_preset(invocation, self.settings, loaded.recommended)
        except SpecchatError as error:
            self._note(str(error))
            return
        if done.settings is not None:
            self.turn_to(done.settings)
        if "\n" in done.words:
            await self._notice(done.words)
        else:
            self._note(done.words)

    def set_theme(self, name: str | None) -> None:
        """Another theme; without a name, the list of them."""
        if name is None:
            self.app.action_change_theme()
        elif name in self.app.available_themes:
            self.app.theme = name

    async def show_system(self) -> None:
        """The system prompt as it is."""
        system = self._session.conversation.session.system
        await self._notice(f"The system prompt: {system}" if system else "There is no system prompt: /system TEXT")

    async def show(self, invocation: Invocation) -> None:
        """Opens the window that a command asks for."""
        from specchat.tui.screens.windows import open_window

        await open_window(self, invocation)

    def welcome(self) -> None:
        """Welcomes someone who is here for the first time."""
        from specchat.tui.screens.welcoming import welcome

        welcome(self)

    async def action_view(self) -> None:
        """Shows the answer in view in another way; while one streams, the next ones stream that way too."""
        answer = self.query_one(Transcript).answer_in_view()
        if answer is not None:
            view = await answer.cycle_view()
            if answer.live:
                self._live_view = view

    async def action_new_chat(self) -> None:
        """An empty conversation with the same pair and settings."""
        if self._session.loaded is not None:
            await self.new_conversation()

    def action_sessions(self, search: str = "") -> None:
        """The stored sessions."""
        from specchat.tui.screens.sessions import SessionsScreen

        self.app.push_screen(SessionsScreen(self._archive, self._session.conversation.id, search), self._session_chosen)

    async def _session_chosen(self, session: int | None) -> None:
        if session is not None:
            await self.open_session(session)

    def action_help(self, command: str | None = None) -> None:
        """Shows the help."""
        from specchat.tui.screens.help import HelpScreen

        self.app.push_screen(HelpScreen(self.own_keys, command))

    def action_copy_or_quit(self) -> None:
        """Copies the selection; without one, the second press in two seconds quits."""
        selected = self.get_selected_text()
        if selected:
            self.clear_selection()
            self._copy(selected, "selection")
        elif monotonic() - self._quit_pressed < _SECOND_PRESS:
            self.app.call_next(self.app.action_quit)
        else:
            self._quit_pressed = monotonic()
            self._note("Ctrl+C again quits")
