"""The panel of how models are loaded: the models, the context, where layers are kept. Threads change at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click, Key
from textual.message import Message
from textual.widgets import Static

from specchat.chat.commands.model import Role
from specchat.chat.knobs import LOAD_KNOBS, Knob, with_threads
from specchat.settings.options import ChatOptions
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.knobs import TypedRow
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions

_LABEL = 15
_VALUE = 12
_LIVE = "←→ turn · threads change at once"
_WAITS = "Enter loads again; the conversation stays"


class LoadKnobRow(TypedRow):
    """One line: a knob that ← and → turn and typing sets, or a model that Enter chooses."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "enter", "Load again", id="knobs.enter")]
    SIGNS = "_"
    LONGEST = _VALUE

    @dataclass
    class Turned(Message):
        """The knob was turned by steps."""

        knob: Knob[LoadOptions]
        steps: int

    @dataclass
    class Typed(Message):
        """A value was typed for the knob."""

        knob: Knob[LoadOptions]
        text: str

    @dataclass
    class Entered(Message):
        """Enter was pressed on the model of this role, or on a knob."""

        role: Role | None

    def __init__(self, knob: Knob[LoadOptions] | None = None, role: Role | None = None) -> None:
        super().__init__()
        self.knob = knob
        self.role: Role | None = role
        self._value = ""
        self._changed = False

    def show(self, value: str, *, changed: bool) -> None:
        """Shows a value, with a mark if it does not apply yet."""
        self._value, self._changed = value, changed
        self.refresh()

    def render(self) -> Content:
        """The label and the value."""
        label = self.knob.label if self.knob else str(self.role)
        value = f"{self._typing}▏" if self._typing else self._value
        arrows = ("‹ ", " ›") if self.has_focus and self.knob else ("  ", "")
        mark = "*" if self._changed else " "
        style = "bold" if self.has_focus or self._changed else ""
        room = _VALUE if self.knob else max(self.size.width - _LABEL - 2, _VALUE)
        shown = Content.styled(value, style).truncate(room, ellipsis=True, pad=True)
        name = Content.assemble((label.ljust(_LABEL - 1), "$quiet"), (mark, "$text-warning"))
        return Content.assemble(name, arrows[0], shown, arrows[1])

    def action_turn(self, steps: int) -> None:
        """Turns the knob."""
        self._typing = ""
        if self.knob is not None:
            self.post_message(self.Turned(self.knob, steps))

    def action_enter(self) -> None:
        """Posts what was typed, else asks to load or to choose."""
        if self._typing and self.knob is not None:
            typed, self._typing = self._typing, ""
            self.post_message(self.Typed(self.knob, typed))
        else:
            self.post_message(self.Entered(self.role))

    def takes(self, event: Key) -> bool:
        """Typing does nothing on a model."""
        return self.knob is not None and super().takes(event)

    def on_click(self, event: Click) -> None:
        """Turns the knob for a click on an arrow; a click on a model chooses."""
        self.focus()
        if self.role is not None:
            self.post_message(self.Entered(self.role))
        elif event.x <= _LABEL + 1:
            self.action_turn(-1)
        elif event.x >= _LABEL + _VALUE + 2:
            self.action_turn(1)


class LoadKnobs(Vertical):
    """How the pair is loaded, and how it would be: only threads change before Enter."""

    DEFAULT_CSS = """
    LoadKnobs { height: auto; padding: 0 1; border: round $border; border-title-color: $quiet; display: none; }
    LoadKnobs:focus-within { border: round $primary; }
    LoadKnobs LoadKnobRow { height: 1; }
    LoadKnobs LoadKnobRow:focus { background: $panel; }
    LoadKnobs Static { height: auto; color: $quiet; }
    """

    @dataclass
    class Load(Message):
        """Load the pair again with these options."""

        options: LoadOptions

    @dataclass
    class Live(Message):
        """Use the threads of these options from now on."""

        options: LoadOptions

    @dataclass
    class Choose(Message):
        """Choose another model."""

        role: Role

    @dataclass
    class Changed(Message):
        """Other options are being considered; the memory that they take is asked for."""

        options: LoadOptions

    @dataclass
    class Refused(Message):
        """A typed value that is not allowed."""

        reason: str

    def __init__(self, chat: ChatOptions) -> None:
        super().__init__()
        self.border_title = "Loading"
        self._chat = chat
        self._wanted = chat.load

    def compose(self) -> ComposeResult:
        """The models, the knobs, the memory, what Enter does."""
        yield LoadKnobRow(role="target")
        yield LoadKnobRow(role="draft")
        for knob in LOAD_KNOBS.values():
            yield LoadKnobRow(knob)
        yield Static(id="memory")
        yield Static(_LIVE, id="what")

    def on_mount(self) -> None:
        """Shows what is loaded."""
        self._draw()

    def fit(self, chat: ChatOptions) -> None:
        """Shows what was loaded and forgets what was considered."""
        self._chat, self._wanted = chat, chat.load
        self._draw()
        self.show_memory("")

    def take_threads(self, options: LoadOptions) -> None:
        """Other threads apply now; what else is considered stays."""
        self._chat = replace(self._chat, load=with_threads(self._chat.load, options))
        self._wanted = with_threads(self._wanted, options)
        self._draw()

    def show_memory(self, memory: Content | str) -> None:
        """Shows the memory that the options take."""
        self.query_one("#memory", Static).update(memory)

    def on_load_knob_row_turned(self, message: LoadKnobRow.Turned) -> None:
        """Considers the turned value."""
        message.stop()
        try:
            self._consider(message.knob.turned(self._wanted, message.steps))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    def on_load_knob_row_typed(self, message: LoadKnobRow.Typed) -> None:
        """Considers the typed value, or says why it is not allowed."""
        message.stop()
        try:
            self._consider(message.knob.typed(self._wanted, message.text))
        except SettingError as error:
            self.post_message(self.Refused(str(error)))

    def on_load_knob_row_entered(self, message: LoadKnobRow.Entered) -> None:
        """Loads what is considered, or chooses a model."""
        message.stop()
        if message.role is not None:
            self.post_message(self.Choose(message.role))
        elif self._wanted != self._chat.load:
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
        for row in self.query(LoadKnobRow):
            if row.knob is None:
                row.show(_name(self._chat.target if row.role == "target" else self._chat.draft), changed=False)
            else:
                value = row.knob.text(self._wanted)
                row.show(value, changed=value != row.knob.text(self._chat.load))
        changed = self._wanted != self._chat.load
        self.query_one("#what", Static).update(_WAITS if changed else _LIVE)


def _name(path: Path | None) -> str:
    return "none" if path is None else clean_line(path.stem)
