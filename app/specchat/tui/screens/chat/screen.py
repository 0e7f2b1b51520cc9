"""The chat screen: its keys and messages, and which part of the chat each of them goes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from specchat.chat.archive import Archive
from specchat.chat.commands.registry import commands
from specchat.chat.controller import Sources
from specchat.chat.history import PromptHistory, history_file
from specchat.chat.library_names import LibraryNames
from specchat.chat.outbox import QueuedMessage
from specchat.chat.session import ChatSession, Phase
from specchat.engine_process.engine_client import EngineClient
from specchat.errors import SpecchatError
from specchat.settings.options import ChatOptions
from specchat.settings.paths import memories_folder
from specchat.tui.engine_link import EngineLink
from specchat.tui.screens.chat.advisor import Advisor
from specchat.tui.screens.chat.beside import Beside
from specchat.tui.screens.chat.conversations import Conversations, PromptCaches
from specchat.tui.screens.chat.engine_events import take_events
from specchat.tui.screens.chat.front_end import ScreenFrontEnd
from specchat.tui.screens.chat.model_loader import ModelLoader
from specchat.tui.screens.chat.panels import Panels
from specchat.tui.screens.chat.programs import OtherPrograms
from specchat.tui.screens.chat.queue import Queue
from specchat.tui.screens.chat.shell_commands import ShellCommands
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.step_mode import StepMode
from specchat.tui.screens.chat.tools import ToolCalls
from specchat.tui.screens.chat.tour import TourGuide
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.conversation_pane import ConversationPane
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.dashboard import Dashboard
from specchat.tui.widgets.download_bar import LazyDownloads
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.load_knobs import LoadKnobs
from specchat.tui.widgets.prompt import PromptInput

if TYPE_CHECKING:
    from specchat.tui.screens.chat.answer_windows import AnswerWindows
    from specchat.tui.screens.chat.model_windows import ModelWindows

_SECOND_PRESS = 2.0
"""Seconds in which a second Ctrl+C quits."""
_AGAIN_QUITS = "Ctrl+C again quits"


class ChatScreen(Screen[None]):
    """A conversation, and everything that can be done with it."""

    AUTO_FOCUS = "PromptInput"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop_command", "Stop command", id="chat.stop_command"),
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("escape", "stop_call", "Stop call", id="chat.stop_call"),
        Binding("escape", "leave_knobs", "Back", id="chat.leave_knobs"),
        Binding("escape", "leave_edit", "Leave as it was", id="chat.leave_edit"),
        Binding("escape", "take_back", "Take back", id="chat.take_back"),
        Binding("escape", "leave_tour", "Leave tour", id="chat.leave_tour"),
        Binding("f1", "show('help')", "Help", id="chat.help"),
        Binding("f2", "show('knobs')", "Knobs", id="chat.knobs"),
        Binding("f3", "show('view')", "View", id="chat.view"),
        Binding("f8", "give('models')", "Models", id="chat.models"),
        Binding("ctrl+o", "show('sessions')", "Sessions", id="chat.sessions"),
        Binding("ctrl+n", "new_chat", "New", id="chat.new"),
        Binding("f4", "show('inspect')", "Inspect", id="chat.inspect"),
        Binding("f5", "step", "Step", id="chat.step"),
        Binding("f6", "show('race')", "Race", id="chat.race"),
        Binding("f7", "show('stats', 'turn')", "Stats", id="chat.statistics"),
        Binding("f9", "show('figures')", "Figures", id="chat.figures"),
        Binding("f12", "show('explain')", "Explain", id="chat.explain"),
        Binding("f10", "swap", "Other chat", id="chat.swap"),
        Binding("ctrl+c", "copy_or_quit", "Copy or quit", show=False, id="chat.copy_or_quit"),
        Binding("ctrl+z", "app.suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
        Binding("ctrl+up,alt+up", "turn_k(1)", "Raise k", show=False, id="chat.raise_k"),
        Binding("ctrl+down,alt+down", "turn_k(-1)", "Lower k", show=False, id="chat.lower_k"),
        Binding("ctrl+t", "take_advice", "Take the advice", show=False, id="chat.take_advice"),
        Binding("ctrl+g", "load_arrived", "Load or resume a download", show=False, id="chat.load_arrived"),
        Binding("shift+f5,f17", "step_on", "Go on", show=False, id="chat.step_on"),
    ]

    def __init__(
        self,
        options: ChatOptions,
        client: EngineClient,
        archive: Archive,
        downloads: LazyDownloads,
        *,
        resume: int | None = None,
        first_run: bool = False,
        own_keys: Mapping[str, str] | None = None,
        vi_keys: bool = False,
    ) -> None:
        """`resume` is the stored session to open with; `own_keys` are keys that the user configured, by binding."""
        super().__init__()
        self._vi_keys = vi_keys
        self._resume = resume
        self._first_run = first_run
        self._quit_pressed = float("-inf")
        self._noted = ""
        self._client = client
        self.library = LibraryNames()
        self.link = EngineLink(client, self)
        self.state = ChatState(ChatSession(options), archive, PromptHistory(history_file()))
        self.view = ChatView(self.state, self._sources, self.state.history, downloads)
        self.tools = ToolCalls(self, self.state, self.view, self.refresh_bindings)
        self.turns = TurnRunner(self, self.state, self.view, self.link, self.tools, self._turn_changed)
        self.queue = Queue(self.state, self.view, self.turns, self.refresh_bindings)
        self.shell = ShellCommands(self, self.state, self.view)
        self.programs = OtherPrograms(self, self.view)
        caches = PromptCaches(client, memories_folder())
        self.conversations = Conversations(self.state, self.view, self.turns, caches)
        self.beside = Beside(self, self.state, self.view, self.conversations)
        self.loader = ModelLoader(self.state, self.view, self.link, self.library)
        self.step_mode = StepMode(self, self.state, self.view, client)
        self.tour = TourGuide(self.state, self.view, self.turns, self.conversations)
        self.advisor = Advisor(self, self.state, self.view, self.turns)
        self.panels = Panels(self, self.state, self.view, self.turns, self.conversations, self.beside, own_keys or {})
        self.front_end = ScreenFrontEnd(self)

    @cached_property
    def answer_windows(self) -> AnswerWindows:
        """The windows about answers. Importing them takes 0.1 s."""
        from specchat.tui.screens.chat.answer_windows import AnswerWindows

        return AnswerWindows(self, self.state, self.view, self._client, self.turns, self.panels.read_docs)

    @cached_property
    def model_windows(self) -> ModelWindows:
        """The windows about models. Importing them takes 0.5 s, most of it for the Hugging Face library."""
        from specchat.tui.screens.chat.model_windows import ModelWindows

        return ModelWindows(self, self.state, self._client, self.loader, self.view.download_bar)

    def compose(self) -> ComposeResult:
        """The widgets of the chat."""
        yield from self.view.compose()

    async def on_mount(self) -> None:
        """Shows the session to resume, and loads the models after the first frame."""
        self.view.knobs.display = False
        if self._vi_keys:
            self.view.prompt.use_vi_keys(True)
        if self._resume is not None:
            await self.conversations.resume(self._resume)
        if self._first_run:
            self.call_after_refresh(self._welcome)
        self.call_after_refresh(self.loader.load)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What Esc does: it stops, leaves the knobs or an edit, takes back what is queued, or leaves the tour."""
        if action == "swap":
            return self.beside.is_shown
        runs, knobs = self.shell.running, self.has_class("-knobs")
        answers, calls = self.state.turn is not None, self.tools.running
        edits = self.state.editing is not None and not self.tour.asks_again
        idle = not (runs or answers or calls)
        match action:
            case "stop_command":
                return runs
            case "stop":
                return answers and not runs
            case "stop_call":
                return calls and not answers and not runs
            case "leave_knobs":
                return idle and knobs
            case "leave_edit":
                return idle and not knobs and edits
            case "take_back":
                return idle and not knobs and not edits and self.queue.can_take_back
            case "leave_tour":
                return idle and not (knobs or edits or self.queue.can_take_back) and self.tour.active
        return True

    def on_resize(self) -> None:
        """Shows two conversations only if both have room."""
        self.beside.fit()

    async def on_engine_link_arrived(self, message: EngineLink.Arrived) -> None:
        """Takes events of the engine."""
        message.stop()
        await take_events(self, message.events)
        self.step_mode.show()

    # Messages of the prompt

    def on_prompt_input_submitted(self, message: PromptInput.Submitted) -> None:
        """Sends a message; loads the models again if that failed before. Images need a model that sees them."""
        if message.images and (why := self.state.session.no_images_because):
            self.view.note(why)
            return
        self.queue.submit(QueuedMessage(message.text, message.shown, message.entry, images=message.images))
        if self.state.waiting is not None and self.state.session.phase is Phase.FAILED:
            self.loader.load()

    async def on_prompt_input_commanded(self, message: PromptInput.Commanded) -> None:
        """Does what a slash command asks for."""
        await self.front_end.perform(message.invocation)

    def on_prompt_input_scrolled(self, message: PromptInput.Scrolled) -> None:
        """Scrolls the transcript."""
        self.view.transcript.move(message.where)

    def on_prompt_input_spared(self, message: PromptInput.Spared) -> None:
        """Sends or takes back what is queued, or controls step mode."""
        if not self.queue.press(message.key):
            self.step_mode.press(message.key)

    def on_prompt_input_pages_named(self, message: PromptInput.PagesNamed) -> None:
        """Asks before pages are fetched."""
        from specchat.tui.screens.question import PageConsentScreen

        self.app.push_screen(PageConsentScreen(message.pages), lambda agreed: message.fetch() if agreed else None)

    def on_prompt_input_mode_changed(self, message: PromptInput.ModeChanged) -> None:
        """Shows the mode of vi's keys above the prompt."""
        self.view.show_mode(message.mode)

    def on_prompt_input_editor_wanted(self) -> None:
        """Opens the user's editor."""
        self.programs.edit()

    def on_text_area_changed(self) -> None:
        """Lets the engine read ahead, and shows which keys of step mode work while something is written."""
        self.turns.prompt_changed()
        self.step_mode.show()

    @on(PromptInput.Refused)
    @on(Knobs.Refused)
    @on(LoadKnobs.Refused)
    def show_reason(self, message: PromptInput.Refused | Knobs.Refused | LoadKnobs.Refused) -> None:
        """Says why a text or a value is not possible."""
        self.view.note(message.reason)

    # Messages of the panels

    def on_dashboard_explain(self, message: Dashboard.Explain) -> None:
        """Explains the figure that is marked."""
        self.answer_windows.show_explanations(message.view, message.figure)

    def on_dashboard_left(self) -> None:
        """Goes back to the prompt."""
        self.panels.leave_figures()

    def on_knobs_changed(self, message: Knobs.Changed) -> None:
        """Applies settings at once."""
        self.turns.apply(message.settings)

    def on_load_knobs_load(self, message: LoadKnobs.Load) -> None:
        """Loads the pair again with other options."""
        self.loader.load_again(lambda _: message.options)

    def on_load_knobs_live(self, message: LoadKnobs.Live) -> None:
        """Uses other thread counts at once."""
        self.loader.use_threads(message.options)

    def on_load_knobs_choose(self, message: LoadKnobs.Choose) -> None:
        """Opens the models to choose a target or a draft."""
        self.model_windows.browse(message.role)

    def on_load_knobs_changed(self, message: LoadKnobs.Changed) -> None:
        """Estimates the memory that other options would take."""
        self.run_worker(self.loader.estimate(message.options), group="estimate", exclusive=True)

    # Messages of the transcript

    @on(Transcript.OfEntry)
    async def act_on_entry(self, message: Transcript.OfEntry) -> None:
        """Does what the user wants to be done with a message."""
        await self.front_end.act_on_entry(message)

    def on_transcript_link_clicked(self, message: Transcript.LinkClicked) -> None:
        """Shows where a link leads; a model's text opens nothing by itself."""
        self.view.note(message.href)

    def on_transcript_image_wanted(self, message: Transcript.ImageWanted) -> None:
        """Shows an image in full."""
        self.programs.show_image(message.image.path)

    def on_transcript_left(self) -> None:
        """Goes back to the prompt."""
        self.view.prompt.focus()

    async def on_conversation_pane_chosen(self, message: ConversationPane.Chosen) -> None:
        """Goes to the conversation whose title was clicked."""
        if message.pane is not self.view.pane:
            await self.beside.swap()

    # Keys

    def before_key(self) -> None:
        """Hides the note, before a key or a paste is handled."""
        self._noted = self.view.note_bar.text
        self.view.note("")

    def action_stop_command(self) -> None:
        """Stops the shell command."""
        self.shell.stop()

    def action_stop(self) -> None:
        """Stops the answer."""
        self.turns.stop()

    def action_stop_call(self) -> None:
        """Stops the call of a tool, or the server that starts."""
        self.tools.stop()

    async def action_leave_knobs(self) -> None:
        """Goes back from the knobs to the prompt."""
        await self.panels.toggle_knobs()

    def action_leave_edit(self) -> None:
        """Leaves the message that is being edited as it was."""
        self.turns.leave_edit()

    def action_take_back(self) -> None:
        """Puts the last queued message back into the prompt, or removes the output of a command."""
        self.queue.leave()

    def action_leave_tour(self) -> None:
        """Ends the tour."""
        self.tour.leave()
        self.refresh_bindings()

    async def action_show(self, page: str, *arguments: str) -> None:
        """Shows a page."""
        await self.front_end.show(page, *arguments)

    async def action_give(self, command: str) -> None:
        """Gives a command without an argument."""
        await self.front_end.perform(commands()[command].given("", Sources()))

    async def action_new_chat(self) -> None:
        """Starts an empty conversation."""
        if self.state.session.loaded is not None:
            await self.conversations.new()

    def action_step(self) -> None:
        """Freezes the answer, or lets it make one round."""
        self.step_mode.step()
        self.refresh_bindings()

    def action_step_on(self) -> None:
        """Leaves step mode."""
        self.step_mode.turn(False)

    async def action_swap(self) -> None:
        """Goes to the conversation beside this one."""
        await self.beside.swap()

    def action_turn_k(self, steps: int) -> None:
        """Raises or lowers k."""
        self.panels.turn_k(steps)

    def action_take_advice(self) -> None:
        """Follows the last advice."""
        self.advisor.take()

    async def action_load_arrived(self) -> None:
        """Loads what was downloaded last, or resumes a download that was interrupted."""
        bar, view = self.view.download_bar, self.view
        arrived = bar.take()
        if arrived is not None:
            await self.loader.load_pair(arrived.target, arrived.draft)
            return
        try:
            resumed = bar.resume()
        except SpecchatError as error:
            view.note(str(error))
        else:
            view.note("the download goes on" if resumed else "no download waits to be loaded: F8 finds models")

    def action_copy_or_quit(self) -> None:
        """Copies the selection; without one, the second press quits, within two seconds or while the note says so."""
        selected = self.get_selected_text()
        if selected:
            self.clear_selection()
            self.front_end.copy(selected, "selection")
        elif self._noted == _AGAIN_QUITS or monotonic() - self._quit_pressed < _SECOND_PRESS:
            self.app.call_next(self.app.action_quit)
        else:
            self._quit_pressed = monotonic()
            self.view.note(_AGAIN_QUITS)

    def _welcome(self) -> None:
        self.model_windows.welcome(self.view.prompt, self.tour.start)

    def _sources(self) -> Sources:
        """The names that commands can use now."""
        server = self.state.session.server
        if server is None:
            self.library.refresh()
        return replace(
            self.state.sources(),
            models=self.library if server is None else dict.fromkeys(server.models, "").items,
            themes=dict.fromkeys(self.app.available_themes, "").items,
        )

    def _turn_changed(self) -> None:
        self.step_mode.show()
        self.beside.show_titles()
        self.refresh_bindings()
