"""The panel of how models are loaded: the models themselves, the context, where layers lie; threads change at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from specchat.chat.commands.invocations import Role
from specchat.chat.load_dials import LOAD_DIALS, LoadDial, with_threads
from specchat.settings.options import ChatOptions
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.typed_knob import TypedKnob
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import AUTO

_LABEL = 15
_VALUE = 12
_LIVE = "← → turn; Enter loads, threads need none"
_WAITS = "Enter loads again; the conversation stays"


class LoadKnob(TypedKnob):
    """One line: a dial that ← and → turn and typing sets, or a model that Enter chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "enter", "Load again", id="knobs.enter")]
    SIGNS = "_"
    LONGEST = _VALUE

    @dataclass
    class Turned(Message):
        """The dial was turned by steps."""

        dial: LoadDial
        steps: int

    @dataclass
    class Typed(Message):
        """A value was typed for the dial."""

        dial: LoadDial
        text: str

    @dataclass
    class Entered(Message):
        """Enter was pressed: on a model, of this role, or on a dial."""

        role: Role | None

    def __init__(self, dial: LoadDial | None = None, role: Role | None = None) -> None:
        super().__init__()
        self.dial = dial
        self.role: Role | None = role
        self._value = ""
        self._changed = False

    def show(self, value: str, *, changed: bool) -> None:
        """Shows a value; one that is not in force yet is marked."""
        self._value, self._changed = value, changed
        self.refresh()

    def render(self) -> Content:
        """The label and the value."""
        label = self.dial.label if self.dial else str(self.role)
        value = f"{self._typing}▏" if self._typing else self._value
        arrows = ("‹ ", " ›") if self.has_focus and self.dial else ("  ", "")
        mark = "*" if self._changed else " "
        style = "bold" if self.has_focus or self._changed else ""
        room = _VALUE if self.dial else max(self.size.width - _LABEL - 2, _VALUE)
        shown = Content.styled(value, style).truncate(room, ellipsis=True, pad=True)
        name = Content.assemble((label.ljust(_LABEL - 1), "$quiet"), (mark, "$text-warning"))
        return Content.assemble(name, arrows[0], shown, arrows[1])

    def action_turn(self, steps: int) -> None:
        """Turns the dial."""
        self._typing = ""
        if self.dial is not None:
            self.post_message(self.Turned(self.dial, steps))

    def action_enter(self) -> None:
        """Takes what was typed, else loads or chooses."""
        if self._typing and self.dial is not None:
            typed, self._typing = self._typing, ""
            self.post_message(self.Typed(self.dial, typed))
        else:
            self.post_message(self.Entered(self.role))

    def takes(self, event: Key) -> bool:
        """Nothing is typed on a model."""
        return self.dial is not None and super().takes(event)

    def on_click(self, event: Click) -> None:
        """A click on an arrow turns, one on a model chooses."""
        self.focus()
        if self.role is not None:
            self.post_message(self.Entered(self.role))
        elif event.x <= _LABEL + 1:
            self.action_turn(-1)
        elif event.x >= _LABEL + _VALUE + 2:
            self.action_turn(1)


class LoadKnobs(Vertical):
    """How the pair is loaded, and how it would be: nothing but threads changes before Enter."""

    DEFAULT_CSS = """
    LoadKnobs { height: auto; padding: 0 1; border: round $border; border-title-color: $quiet; display: none; }
    LoadKnobs:focus-within { border: round $primary; }
    LoadKnobs LoadKnob { height: 1; }
    LoadKnobs LoadKnob:focus { background: $panel; }
    LoadKnobs Static { height: auto; color: $quiet; }
    """

    @dataclass
    class Load(Message):
        """The pair is to be loaded again in this way."""

        options: LoadOptions

    @dataclass
    class Live(Message):
        """What is loaded is to compute with the threads of these options from now on."""

        options: LoadOptions

    @dataclass
    class Choose(Message):
        """Another model is to be chosen."""

        role: Role

    @dataclass
    class Changed(Message):
        """Other options are being considered: what memory would they take?"""

        options: LoadOptions

    @dataclass
    class Refused(Message):
        """A typed value cannot be."""

        reason: str

    def __init__(self, chat: ChatOptions) -> None:
        super().__init__()
        self.border_title = "Loading"
        self._chat = chat
        self._wanted = chat.options
        self._machine: Mapping[str, Any] = {}

    def compose(self) -> ComposeResult:
        """The models, the dials, the memory, what Enter does."""
        yield LoadKnob(role="target")
        yield LoadKnob(role="draft")
        for dial in LOAD_DIALS:
            yield LoadKnob(dial)
        yield Static(id="memory")
        yield Static(_LIVE, id="what")

    def on_mount(self) -> None:
        """Shows what is loaded."""
        self._draw()

    def fit(self, chat: ChatOptions) -> None:
        """Something else is loaded now; what was considered is forgotten."""
        self._chat, self._wanted, self._machine = chat, chat.options, {}
        self._draw()
        self.tell("")

    def take_threads(self, options: LoadOptions) -> None:
        """Other threads are in force; what is considered beside them stays."""
        self._chat = replace(self._chat, options=with_threads(self._chat.options, options))
        self._wanted = with_threads(self._wanted, options)
        self._machine = {}
        self._draw()

    def tell_machine(self, machine: Mapping[str, Any]) -> None:
        """What an answer was computed with, as its trace tells: that is what auto comes to."""
        self._machine = machine
        self._draw()

    def tell(self, memory: Content | str) -> None:
        """What memory the options take."""
        self.query_one("#memory", Static).update(memory)

    def on_load_knob_turned(self, message: LoadKnob.Turned) -> None:
        """Considers the turned value."""
        message.stop()
        try:
            self._consider(message.dial.turned(self._wanted, message.steps))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    def on_load_knob_typed(self, message: LoadKnob.Typed) -> None:
        """Considers the typed value, or says why it cannot be."""
        message.stop()
        try:
            self._consider(message.dial.typed(self._wanted, message.text))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    def on_load_knob_entered(self, message: LoadKnob.Entered) -> None:
        """Loads what is considered, or chooses a model."""
        message.stop()
        if message.role is not None:
            self.post_message(self.Choose(message.role))
        elif self._wanted != self._chat.options:
            self.post_message(self.Load(self._wanted))

    def _consider(self, options: LoadOptions) -> None:
        if with_threads(self._wanted, options) != self._wanted:
            self.take_threads(options)
            self.post_message(self.Live(options))
        elif options != self._wanted:
            self._wanted = options
            self._draw()
            self.post_message(self.Changed(options))

    def _draw(self) -> None:
        for knob in self.query(LoadKnob):
            if knob.dial is None:
                knob.show(_name(self._chat.target if knob.role == "target" else self._chat.draft), changed=False)
            else:
                value = knob.dial.text(self._wanted)
                chosen = self._machine.get(knob.dial.key.replace("-", "_")) if value == AUTO else None
                changed = value != knob.dial.text(self._chat.options)
                knob.show(f"{value}, {chosen}" if chosen else value, changed=changed)
        changed = self._wanted != self._chat.options
        self.query_one("#what", Static).update(_WAITS if changed else _LIVE)


def _name(path: Path | None) -> str:
    return "none" if path is None else clean_line(path.stem)
