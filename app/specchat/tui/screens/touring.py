"""The tour on the chat itself: it writes questions into the prompt, and the visitor sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.tour_bar import TourBar
from specchat.worker.protocol import Ended, WorkerFailed
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.tui.play import Play
    from specchat.tui.tour import Tour


class TouringScreen(BranchingScreen):
    """Leads through the steps and gives back the settings at the end."""

    _tour: Tour | None = None
    _before: Settings | None = None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc leaves the tour while there is nothing else that it would leave or stop."""
        if action == "leave_tour":
            return self._tour is not None and self._play is None and not self.has_class("-knobs")
        return super().check_action(action, parameters)

    async def start_tour(self) -> None:
        """Begins the tour, in an empty conversation; while it goes on, leaves it."""
        from specchat.tui.tour import Tour
        from specchat_assets import TARGET_NAME

        if self._tour is not None:
            await self.action_leave_tour()
            return
        if self._busy():
            return
        if self._session.settings is None:
            self._note("the model is still loading")
            return
        if not self._session.conversation.empty:
            await self.new_conversation()
        self._before = self._session.settings
        self._tour = Tour(builtin=self._session.options.target.name == TARGET_NAME)
        await self.mount(TourBar(), before="#entry")
        self._next_step(self._tour)

    async def action_leave_tour(self) -> None:
        """Gives back what was set before; what was said stays."""
        tour, self._tour = self._tour, None
        if tour is None:
            return
        await self.query(TourBar).remove()
        prompt = self.query_one(Prompt)
        if tour.step is not None and prompt.text.strip() == tour.step.prompt:
            prompt.write("")
        prompt.focus()
        self._restore()
        self.refresh_bindings()

    async def _finish(self, play: Play, last: Ended | WorkerFailed) -> None:
        await super()._finish(play, last)
        if self._tour is not None and isinstance(last, Ended) and last.reason != "cancelled":
            self._tour.answered(play.answer.figures)
            self._next_step(self._tour)

    def _next_step(self, tour: Tour) -> None:
        """Sets what the step is about, and writes its question unless the visitor writes already."""
        self.query_one(TourBar).show(tour)
        step, settings, loaded = tour.step, self._session.settings, self._session.loaded
        if step is None:
            self._restore()
        elif settings is not None and loaded is not None:
            self._turn_all(step.applied(settings, loaded.drafters))
            self.query_one(Prompt).give_back(step.prompt)
        self.refresh_bindings()

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            self._turn_all(before)

    def _turn_all(self, settings: Settings) -> None:
        self.query_one(Knobs).show(settings)
        self._apply(settings)
