"""Step mode of the chat: answers that wait before each round, for a key or for a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.timer import Timer

from specchat.chat.archive import Archive
from specchat.chat.client import EngineClient
from specchat.settings.options import ChatOptions
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.stepping import Stepping
from specchat.tui.widgets.prompt import Prompt
from specchat.tui.widgets.step_bar import StepBar
from specchat.worker.protocol import Ended, WorkerFailed
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.tui.play import Play

_KEYS = frozenset({"space", "plus", "minus", "enter"})


class SteppingScreen(BranchingScreen):
    """Holds answers and lets them go on. Keys that type something do so again as soon as something is written."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("shift+f5,f17", "step_on", "Go on", show=False, id="chat.step_on")]

    def __init__(self, options: ChatOptions, client: EngineClient, archive: Archive) -> None:
        super().__init__(options, client, archive)
        self._stepping = Stepping()
        self._clock: Timer | None = None

    async def step_mode(self, on: bool | None = None) -> None:
        """Freezes the running answer, or the next one, or lets it go on at full speed; None is the other of both."""
        wanted = not self._stepping.on if on is None else on
        if wanted == self._stepping.on:
            return
        self._client.freeze(wanted)
        await self._step(self._stepping.turned(wanted))

    async def action_step(self) -> None:
        """Freezes the answer; one round where it is frozen already."""
        if self._stepping.on and self._play is not None:
            await self._one_round()
        else:
            await self.step_mode()

    async def action_step_on(self) -> None:
        """Goes on at full speed."""
        await self.step_mode(False)

    async def on_prompt_spared(self, message: Prompt.Spared) -> None:
        """The keys of the mode that only an empty prompt leaves to it."""
        match message.key:
            case "space":
                await self._one_round()
            case "plus":
                await self._step(self._stepping.at_pace(1))
            case "minus":
                await self._step(self._stepping.at_pace(-1))
            case "enter":
                await self.step_mode(False)

    def on_text_area_changed(self) -> None:
        """Says which keys work now."""
        self._show_stepping()

    async def _one_round(self) -> None:
        """One round; slow motion is held."""
        if self._stepping.moving:
            self._client.freeze(True)
            await self._step(self._stepping.held())
        else:
            self._client.step()

    async def _step(self, stepping: Stepping) -> None:
        """The mode changes: its bar comes and goes with it, its clock with slow motion."""
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        if stepping.moving:
            self._clock = self.set_interval(1 / stepping.speed, self._tick)
        bars = self.query(StepBar)
        if stepping.on and not bars:
            await self.mount(StepBar(), before="#entry")
        elif not stepping.on:
            await bars.remove()
        self._stepping = stepping
        self._show_stepping()
        self.refresh_bindings()

    def _tick(self) -> None:
        if self._play is not None:
            self._client.step()

    async def _answer(self, settings: Settings, prefix: tuple[int, ...] = (), *, frozen: bool = False) -> None:
        await super()._answer(settings, prefix, frozen=frozen or self._stepping.on)
        self._show_stepping()

    async def _finish(self, play: Play, last: Ended | WorkerFailed) -> None:
        await super()._finish(play, last)
        self._show_stepping()

    async def _leave_answer(self) -> None:
        await super()._leave_answer()
        self._show_stepping()

    def _grew(self) -> None:
        super()._grew()
        if self._stepping.on:
            self._show_stepping()

    def _show_stepping(self) -> None:
        prompt = self.query_one(Prompt)
        writing = bool(prompt.text)
        prompt.spared = _KEYS if self._stepping.on and self._play is not None else frozenset()
        rounds = len(self._play.answer.rounds) if self._play is not None else None
        for bar in self.query(StepBar):
            bar.show(self._stepping, rounds, writing=writing)
