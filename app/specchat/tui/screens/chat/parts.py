"""The parts of the chat screen: they are made here with what they need, and get the engine's events from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from textual.screen import Screen

from specchat.chat.archive import Archive
from specchat.chat.commands.model import Role
from specchat.chat.controller import Sources
from specchat.chat.history import History, history_file
from specchat.chat.library_names import LibraryNames
from specchat.chat.server_limits import models_of
from specchat.chat.session import ChatSession
from specchat.chat.turn import RunningTurn
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import (
    Ended,
    Event,
    Loaded,
    Loading,
    Notice,
    Recounted,
    Started,
    Summarised,
    TaskFailed,
)
from specchat.settings.options import ChatOptions
from specchat.settings.paths import memories_folder
from specchat.stats.turn import TurnView
from specchat.tui.engine_link import EngineLink
from specchat.tui.screens.chat.advisor import Advisor
from specchat.tui.screens.chat.beside import Beside
from specchat.tui.screens.chat.conversations import Conversations, PromptCaches
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
from specchat.tui.transcript.answer import Answer
from specchat.tui.widgets.download_bar import LazyDownloads
from specchat_engine.decoding.rounds import PromptProgress, Round

if TYPE_CHECKING:
    from specchat.tui.screens.chat.answer_windows import AnswerWindows
    from specchat.tui.screens.chat.model_windows import ModelWindows


class ChatParts:
    """The parts of one chat screen. The two that open windows are imported when the first window opens."""

    def __init__(
        self,
        screen: Screen[None],
        options: ChatOptions,
        client: EngineClient,
        archive: Archive,
        downloads: LazyDownloads,
        own_keys: Mapping[str, str],
    ) -> None:
        self.screen = screen
        self._client = client
        self.library = LibraryNames()
        self.link = EngineLink(client, screen)
        self.state = ChatState(ChatSession(options), archive, History(history_file()))
        self.view = ChatView(self.state, self._sources, self.state.history, downloads)
        self.tools = ToolCalls(screen, self.state, self.view, screen.refresh_bindings)
        self.turns = TurnRunner(screen, self.state, self.view, self.link, self.tools, self._turn_changed)
        self.queue = Queue(self.state, self.view, self.turns, screen.refresh_bindings)
        self.shell = ShellCommands(screen, self.state, self.view)
        self.programs = OtherPrograms(screen, self.view)
        caches = PromptCaches(client, memories_folder())
        self.conversations = Conversations(self.state, self.view, self.turns, caches)
        self.beside = Beside(screen, self.state, self.view, self.conversations)
        self.loader = ModelLoader(self.state, self.view, self.link, self.library)
        self.step_mode = StepMode(screen, self.state, self.view, client)
        self.tour = TourGuide(self.state, self.view, self.turns, self.conversations)
        self.advisor = Advisor(screen, self.state, self.view, self.turns)
        self.panels = Panels(screen, self.state, self.view, self.turns, self.conversations, own_keys)

    @cached_property
    def answer_windows(self) -> AnswerWindows:
        """The windows about answers. Importing them takes 0.1 s."""
        from specchat.tui.screens.chat.answer_windows import AnswerWindows

        return AnswerWindows(self.screen, self.state, self.view, self._client, self.turns, self.panels.read_docs)

    @cached_property
    def model_windows(self) -> ModelWindows:
        """The windows about models. Importing them takes 0.5 s, most of it for the Hugging Face library."""
        from specchat.tui.screens.chat.model_windows import ModelWindows

        return ModelWindows(self.screen, self.state, self._client, self.loader, self.view.download_bar)

    def show_models(self, role: Role | None = None) -> None:
        """Opens the model browser, to choose a target or a draft; lists the models of a server."""
        loaded = self.state.session.loaded
        if loaded is not None and loaded.server is not None:
            self.view.notice(models_of(loaded.server))
        else:
            self.model_windows.browse(role)

    async def take(self, events: Sequence[Event]) -> None:
        """Takes events of a load or of an answer that arrived together, in order."""
        turn = self.state.turn
        for event in events:
            if isinstance(event, Loading):
                self.state.session.progress = event.progress
            elif isinstance(event, Loaded):
                await self._loaded(event)
            elif isinstance(event, Started):
                self.turns.started(event.line)
            elif isinstance(event, Notice):
                self.view.notice(event.text)
            elif isinstance(event, PromptProgress):
                self.turns.reading(event)
            elif isinstance(event, Summarised):
                self.turns.summarised(event)
        rounds = [event for event in events if isinstance(event, Round)]
        last = events[-1]
        if turn is None:
            if isinstance(last, TaskFailed):
                self.loader.failed(last)
                self.queue.hold()
            self.view.show_header()
            return
        if rounds:
            self.turns.take(turn, rounds)
        else:
            self.view.show_header()
        for event in events:
            if isinstance(event, Recounted):
                self.turns.recount(turn, event.rounds)
        if isinstance(last, Ended | TaskFailed):
            self._ended(turn, last)

    def _sources(self) -> Sources:
        """The names that commands can use now."""
        server = self.state.session.server
        if server is None:
            self.library.refresh()
        return replace(
            self.state.sources(),
            models=self.library if server is None else dict.fromkeys(server.models, "").items,
            themes=dict.fromkeys(self.screen.app.available_themes, "").items,
        )

    def _turn_changed(self) -> None:
        self.step_mode.show()
        self.beside.show_titles()
        self.screen.refresh_bindings()

    async def _loaded(self, event: Loaded) -> None:
        state = self.state
        self.view.end_passing()
        first_time = state.settings is None
        if await self.loader.loaded(event):
            self.conversations.pair_changed()
        if first_time:
            self.conversations.use_stored_settings()
        self.view.download_bar.show_unfinished()
        if state.turn is None:
            if not first_time:
                self.view.show_figures(TurnView())
            self.view.show_memory(event.memory)
        resumed, self.conversations.resumed = self.conversations.resumed, None
        if resumed == state.session.conversation.id and state.turn is None and state.waiting is None:
            self.screen.run_worker(self.conversations.restore_prompt_cache(), group="prompt cache")
        self.turns.send_waiting()

    def _ended(self, turn: RunningTurn[Answer], last: Ended | TaskFailed) -> None:
        session, settings = self.state.session, self.state.settings
        self.turns.finish(turn, last)
        if isinstance(last, Ended) and last.calls:
            self.turns.call(last.calls)
        elif isinstance(last, Ended) and last.reason != "cancelled":
            self.panels.offer_docs(turn.answer, turn.message.id, last.text)
            if settings is not None and session.server is None:
                self.screen.run_worker(self.advisor.look_back(session, settings, turn, last), group="advice")
            self.tour.answered(turn.answer)
            self.queue.answered()
        else:
            self.queue.hold()
