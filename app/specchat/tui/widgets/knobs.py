"""The panel of settings that change while an answer streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Blur, Click, Key
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from specchat.chat.knobs import Knob, panel_knobs
from specchat_engine.errors import SettingError
from specchat_engine.settings import Settings

_LABEL = 13
_VALUE = 14


class TypedRow(Widget, can_focus=True):
    """A line that ← and → turn, with `action_turn`, and that collects what is typed until Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,minus", "turn(-1)", "Lower", show=False, id="knobs.turn_back"),
        Binding("right,plus", "turn(1)", "Raise", show=False, id="knobs.turn_on"),
        Binding("up", "move(-1)", "Previous", show=False, id="knobs.move_back"),
        Binding("down", "move(1)", "Next", show=False, id="knobs.move_on"),
    ]
    SIGNS: ClassVar[str] = ""
    """What may be typed besides letters and digits."""

    LONGEST: ClassVar[int] = 12
    _typing = ""

    def action_move(self, steps: int) -> None:
        """Goes to the next knob of any kind, or to the previous one; after the last comes the first."""
        if steps > 0:
            self.screen.focus_next(TypedRow)
        else:
            self.screen.focus_previous(TypedRow)

    def on_key(self, event: Key) -> None:
        """Collects what is typed until Enter."""
        if self.takes(event):
            event.stop()
            event.prevent_default()
            self.refresh()

    def on_blur(self, event: Blur) -> None:
        """Forgets a value that was not entered."""
        self._typing = ""
        self.refresh()

    def takes(self, event: Key) -> bool:
        """True if the key belonged to what is being typed."""
        if event.key == "backspace":
            self._typing = self._typing[:-1]
        elif event.key == "escape" and self._typing:
            self._typing = ""
        elif event.character and (event.character.isalnum() or event.character in self.SIGNS):
            self._typing = (self._typing + event.character)[: self.LONGEST]
        else:
            return False
        return True


class KnobRow(TypedRow):
    """One knob: ← and → turn it, typing sets it."""

    SIGNS = ".,"
    LONGEST = _VALUE

    @dataclass
    class Turned(Message):
        """The user turned this knob by steps."""

        knob: Knob[Settings]
        steps: int

    @dataclass
    class Typed(Message):
        """The user typed a value for this knob."""

        knob: Knob[Settings]
        text: str

    def __init__(self, knob: Knob[Settings], settings: Settings) -> None:
        super().__init__()
        self.knob = knob
        self._settings = settings

    def show(self, settings: Settings) -> None:
        """Shows the value in these settings."""
        self._settings = settings
        self.refresh()

    def render(self) -> Content:
        """The label and the value between its arrows."""
        value = f"{self._typing}▏" if self._typing else self.knob.text(self._settings)
        arrows = ("‹ ", " ›") if self.has_focus else ("  ", "  ")
        return Content.assemble(
            (self.knob.label.ljust(_LABEL), "$quiet"),
            arrows[0],
            (value.ljust(_VALUE), "bold" if self.has_focus else ""),
            arrows[1],
        )

    def action_turn(self, steps: int) -> None:
        """Turns the knob and forgets what was being typed."""
        self._typing = ""
        self.post_message(self.Turned(self.knob, steps))

    def takes(self, event: Key) -> bool:
        """Enter posts what was typed."""
        if event.key == "enter" and self._typing:
            self.post_message(self.Typed(self.knob, self._typing))
            self._typing = ""
            return True
        return super().takes(event)

    def on_click(self, event: Click) -> None:
        """Turns the knob for a click on an arrow."""
        self.focus()
        if _LABEL - 1 <= event.x <= _LABEL + 1:
            self.action_turn(-1)
        elif event.x >= _LABEL + _VALUE + 2:
            self.action_turn(1)


class Knobs(Vertical):
    """All knobs of the loaded pair. Each change is posted as one message with all settings."""

    @dataclass
    class Changed(Message):
        """The settings have changed."""

        settings: Settings

    @dataclass
    class Refused(Message):
        """A typed value that is not allowed."""

        reason: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.border_title = "Knobs"
        self._settings: Settings | None = None
        self._drafters: Sequence[str] = ()
        self._k_max = 0
        self._fits = True

    def compose(self) -> ComposeResult:
        """Says that the knobs wait for the model."""
        yield Static("when the model is loaded", classes="hint")

    async def fit(self, drafters: Sequence[str], k_max: int, settings: Settings) -> None:
        """Takes the limits of a pair that was loaded; its knobs are built when they are visible."""
        self._drafters, self._k_max, self._settings, self._fits = drafters, k_max, settings, False
        if self.display:
            await self._build(settings)

    def show(self, settings: Settings) -> None:
        """Shows settings that were changed elsewhere."""
        self._settings = settings
        for knob in self.query(KnobRow):
            knob.show(settings)

    async def enter(self) -> None:
        """Focuses the first knob."""
        if self._settings is not None and not self._fits:
            await self._build(self._settings)
        for knob in self.query(KnobRow).results():
            knob.focus()
            return

    def on_knob_row_turned(self, message: KnobRow.Turned) -> None:
        """Applies the steps."""
        message.stop()
        if self._settings is not None:
            self._change(message.knob.turned(self._settings, message.steps))

    def on_knob_row_typed(self, message: KnobRow.Typed) -> None:
        """Applies a typed value, or says why it cannot."""
        message.stop()
        if self._settings is None:
            return
        try:
            self._change(message.knob.typed(self._settings, message.text))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    async def _build(self, settings: Settings) -> None:
        self._fits = True
        await self.remove_children()
        await self.mount(*(KnobRow(knob, settings) for knob in panel_knobs(self._drafters, self._k_max)))
        await self.mount(Static("←→ turn · or type, then Enter", classes="hint"))

    def _change(self, settings: Settings) -> None:
        if settings != self._settings:
            self.show(settings)
            self.post_message(self.Changed(settings))
