"""Step mode: answers wait before each round, for a key or for a clock."""

from __future__ import annotations

from textual.timer import Timer
from textual.widget import Widget

from specchat.chat.server_limits import STEP_MODE
from specchat.engine_process.engine_client import EngineClient
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.widgets.step_bar import Stepping

_KEYS = frozenset({"space", "plus", "minus", "enter"})
"""They control step mode while the prompt is empty."""


class StepMode:
    """Freezes answers and lets them go on."""

    def __init__(self, owner: Widget, state: ChatState, view: ChatView, client: EngineClient) -> None:
        """`owner` runs the clock of slow motion."""
        self._owner = owner
        self._state = state
        self._view = view
        self._client = client
        self._stepping = Stepping()
        self._clock: Timer | None = None

    def turn(self, on: bool | None = None) -> None:
        """Switches step mode on or off; None switches it over."""
        wanted = not self._stepping.on if on is None else on
        if wanted and self._view.needs_local(STEP_MODE):
            return
        if wanted != self._stepping.on:
            self._client.freeze(wanted)
            self._change(self._stepping.turned(wanted))

    def step(self) -> None:
        """Freezes the answer; if it is frozen already, lets it make one round."""
        if self._stepping.on and self._state.turn is not None:
            self._one_round()
        else:
            self.turn()

    def press(self, key: str) -> None:
        """Does what one of the keys does that an empty prompt leaves to step mode."""
        match key:
            case "space":
                self._one_round()
            case "plus":
                self._change(self._stepping.at_pace(1))
            case "minus":
                self._change(self._stepping.at_pace(-1))
            case "enter":
                self.turn(False)

    def show(self) -> None:
        """Shows the mode and the keys that work now."""
        prompt, turn = self._view.prompt, self._state.turn
        prompt.spared = _KEYS if self._stepping.on and turn is not None else frozenset()
        self._view.step_bar.display = self._stepping.on
        if self._stepping.on:
            rounds = len(turn.answer.rounds) if turn is not None else None
            self._view.step_bar.show(self._stepping, rounds, writing=bool(prompt.text))

    def _one_round(self) -> None:
        """Lets one round through; slow motion stops."""
        if self._stepping.moving:
            self._client.freeze(True)
            self._change(self._stepping.held())
        else:
            self._client.step()

    def _change(self, stepping: Stepping) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        if stepping.moving:
            self._clock = self._owner.set_interval(1 / stepping.speed, self._tick)
        self._stepping = stepping
        self._state.frozen = stepping.on
        self.show()

    def _tick(self) -> None:
        if self._state.turn is not None:
            self._client.step()
