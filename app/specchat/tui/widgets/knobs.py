"""The panel of what can be turned while an answer streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from specchat.tui.widgets.typed_knob import TypedKnob
from specchat_engine.errors import SettingError
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.chat.dials import Dial

_LABEL = 13
_VALUE = 14


class Knob(TypedKnob):
    """One dial: ← and → turn it, typing sets it."""

    SIGNS = ".,"
    LONGEST = _VALUE

    class Turned(Message):
        """The user turned this dial by steps."""

        def __init__(self, dial: Dial, steps: int) -> None:
            super().__init__()
            self.dial = dial
            self.steps = steps

    class Typed(Message):
        """The user typed a value for this dial."""

        def __init__(self, dial: Dial, text: str) -> None:
            super().__init__()
            self.dial = dial
            self.text = text

    def __init__(self, dial: Dial, settings: Settings) -> None:
        super().__init__()
        self.dial = dial
        self._settings = settings

    def show(self, settings: Settings) -> None:
        """Shows the value in these settings."""
        self._settings = settings
        self.refresh()

    def render(self) -> Content:
        """The label and the value between its arrows."""
        value = f"{self._typing}▏" if self._typing else self.dial.text(self._settings)
        arrows = ("‹ ", " ›") if self.has_focus else ("  ", "  ")
        return Content.assemble(
            (self.dial.label.ljust(_LABEL), "$quiet"),
            arrows[0],
            (value.ljust(_VALUE), "bold" if self.has_focus else ""),
            arrows[1],
        )

    def action_turn(self, steps: int) -> None:
        """Turns the dial; what was being typed is forgotten."""
        self._typing = ""
        self.post_message(self.Turned(self.dial, steps))

    def takes(self, event: Key) -> bool:
        """Enter takes what was typed."""
        if event.key == "enter" and self._typing:
            self.post_message(self.Typed(self.dial, self._typing))
            self._typing = ""
            return True
        return super().takes(event)

    def on_click(self, event: Click) -> None:
        """A click on an arrow turns."""
        self.focus()
        if _LABEL - 1 <= event.x <= _LABEL + 1:
            self.action_turn(-1)
        elif event.x >= _LABEL + _VALUE + 2:
            self.action_turn(1)


class Knobs(Vertical):
    """All knobs of the loaded pair; every change goes out as one message with the whole settings."""

    class Changed(Message):
        """The settings have changed."""

        def __init__(self, settings: Settings) -> None:
            super().__init__()
            self.settings = settings

    class Refused(Message):
        """A typed value cannot be."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = "Knobs"
        self._settings: Settings | None = None
        self._drafters: Sequence[str] = ()
        self._k_max = 0
        self._fits = True

    def compose(self) -> ComposeResult:
        """Says that there is nothing to turn yet."""
        yield Static("when the model is loaded", classes="hint")

    async def fit(self, drafters: Sequence[str], k_max: int, settings: Settings) -> None:
        """A pair was loaded that can be served by these drafters: its knobs are built when they are in sight."""
        self._drafters, self._k_max, self._settings, self._fits = drafters, k_max, settings, False
        if self.display:
            await self._build(settings)

    def show(self, settings: Settings) -> None:
        """Shows settings that were changed elsewhere."""
        self._settings = settings
        for knob in self.query(Knob):
            knob.show(settings)

    async def enter(self) -> None:
        """Focuses the first knob."""
        if self._settings is not None and not self._fits:
            await self._build(self._settings)
        for knob in self.query(Knob).results():
            knob.focus()
            return

    def on_knob_turned(self, message: Knob.Turned) -> None:
        """Takes a turn."""
        message.stop()
        if self._settings is not None:
            self._change(message.dial.turned(self._settings, message.steps))

    def on_knob_typed(self, message: Knob.Typed) -> None:
        """Takes a typed value, or says why not."""
        message.stop()
        if self._settings is None:
            return
        try:
            self._change(message.dial.typed(self._settings, message.text))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    async def _build(self, settings: Settings) -> None:
        from specchat.chat.dials import dials

        self._fits = True
        await self.remove_children()
        await self.mount(*(Knob(dial, settings) for dial in dials(self._drafters, self._k_max)))
        await self.mount(Static("←→ turn · or type, then Enter", classes="hint"))

    def _change(self, settings: Settings) -> None:
        if settings != self._settings:
            self.show(settings)
            self.post_message(self.Changed(settings))
