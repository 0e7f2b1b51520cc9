"""What the chat screen is composed of: each part gets here what it works with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from textual.screen import Screen

from specchat.chat.archive import Archive
from specchat.chat.commands.reading import Sources
from specchat.chat.history import History, history_file
from specchat.chat.library_names import LibraryNames
from specchat.chat.session import ChatSession
from specchat.settings.options import ChatOptions
from specchat.settings.paths import memories_folder
from specchat.settings.presets import preset_names
from specchat.tui.engine_link import EngineLink
from specchat.tui.screens.chat.advisor import Advisor
from specchat.tui.screens.chat.branches import Branches
from specchat.tui.screens.chat.conversations import Conversations, PromptCaches
from specchat.tui.screens.chat.exports import Exports
from specchat.tui.screens.chat.model_loader import ModelLoader
from specchat.tui.screens.chat.panels import Panels
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.step_mode import StepMode
from specchat.tui.screens.chat.tour import TourGuide
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.widgets.download_bar import LazyDownloads
from specchat.worker.client import WorkerClient

if TYPE_CHECKING:
    from specchat.tui.screens.chat.answer_windows import AnswerWindows
    from specchat.tui.screens.chat.model_windows import ModelWindows


class ChatParts:
    """The parts of one chat screen. The two that open windows are imported when the first window opens."""

    def __init__(
        self,
        screen: Screen[None],
        options: ChatOptions,
        client: WorkerClient,
        archive: Archive,
        downloads: LazyDownloads,
        own_keys: Mapping[str, str],
        key_of: Callable[[str], str],
        on_turn_change: Callable[[], None],
    ) -> None:
        self._screen = screen
        self._client = client
        self.library = LibraryNames()
        self.link = EngineLink(client, screen)
        self.state = ChatState(ChatSession(options), archive)
        self.view = ChatView(self.state, self._sources, History(history_file()), downloads)
        self.turns = TurnRunner(screen, self.state, self.view, self.link, on_turn_change)
        self.branches = Branches(self.state, self.view, self.turns)
        caches = PromptCaches(client, memories_folder())
        self.conversations = Conversations(self.state, self.view, self.turns, caches)
        self.loader = ModelLoader(self.state, self.view, self.link, self.library)
        self.step_mode = StepMode(screen, self.state, self.view, client)
        self.tour = TourGuide(self.state, self.view, self.turns, self.conversations)
        self.advisor = Advisor(self.state, self.view, self.turns, key_of)
        self.exports = Exports(screen, self.state, self.view)
        self.panels = Panels(screen, self.state, self.view, self.turns, self.conversations, own_keys)

    @cached_property
    def answer_windows(self) -> AnswerWindows:
        """The windows about answers. Importing them takes 0.1 s."""
        from specchat.tui.screens.chat.answer_windows import AnswerWindows

        return AnswerWindows(self._screen, self.state, self.view, self._client, self.branches)

    @cached_property
    def model_windows(self) -> ModelWindows:
        """The windows about models. Importing them takes 0.5 s, most of it for the Hugging Face library."""
        from specchat.tui.screens.chat.model_windows import ModelWindows

        return ModelWindows(self._screen, self.state, self._client, self.loader, self.view.download_bar)

    def _sources(self) -> Sources:
        """What commands can name at present."""
        loaded = self.state.session.loaded
        drafters = loaded.drafters if loaded else Sources().drafters
        themes = dict.fromkeys(self._screen.app.available_themes, "")
        self.library.refresh()
        return Sources(
            drafters, self.state.session.k_max, models=self.library, themes=themes.items, presets=preset_names
        )
