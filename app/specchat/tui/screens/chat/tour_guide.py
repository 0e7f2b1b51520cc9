"""The tour in the chat: it writes questions into the prompt, and the visitor sends them."""

from __future__ import annotations

from specchat.tui.screens.chat.conversations import Conversations
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.tour import Tour
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import LOADING, ChatView
from specchat_assets import TARGET_NAME
from specchat_engine.settings import Settings


class TourGuide:
    """Leads through the steps and restores the settings at the end."""

    def __init__(self, state: ChatState, view: ChatView, turns: TurnRunner, conversations: Conversations) -> None:
        self._state = state
        self._view = view
        self._turns = turns
        self._conversations = conversations
        self._tour: Tour | None = None
        self._before: Settings | None = None

    @property
    def active(self) -> bool:
        """Whether the tour goes on."""
        return self._tour is not None

    async def start(self) -> None:
        """Begins the tour in an empty conversation; leaves it if it goes on already."""
        if self._tour is not None:
            self.leave()
            return
        if self._view.is_busy():
            return
        if self._state.settings is None:
            self._view.note(LOADING)
            return
        if not self._state.session.conversation.empty:
            await self._conversations.new()
        self._before = self._state.settings
        self._tour = Tour(builtin=self._state.session.options.target.name == TARGET_NAME)
        self._next_step(self._tour)

    def leave(self) -> None:
        """Restores the settings from before the tour; the conversation stays."""
        tour, self._tour = self._tour, None
        if tour is None:
            return
        self._view.tour_bar.display = False
        prompt = self._view.prompt
        if tour.step is not None and prompt.text.strip() == tour.step.prompt:
            prompt.write("")
        prompt.focus()
        self._restore()

    def answered(self, figures: str) -> None:
        """Goes to the next step after an answer with this line of figures."""
        if self._tour is not None:
            self._tour.answered(figures)
            self._next_step(self._tour)

    def _next_step(self, tour: Tour) -> None:
        """Applies the settings of the step and writes its question, unless the visitor is writing."""
        self._view.tour_bar.show(tour.title, tour.text)
        step, settings, loaded = tour.step, self._state.settings, self._state.session.loaded
        if step is None:
            self._restore()
        elif settings is not None and loaded is not None:
            self._turns.change_settings(step.applied(settings, loaded.drafters))
            self._view.prompt.give_back(step.prompt)

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            self._turns.change_settings(before)
