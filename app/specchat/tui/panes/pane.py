"""The base of all parts of the model browser: a field, a list, details of the chosen row, and a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from specchat.errors import SpecchatError
from specchat.models.control import Stopped
from specchat.models.downloads import Wanted
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.listing import Listing
from specchat.tui.widgets.search_field import SearchField
from specchat_engine.errors import EngineError

T = TypeVar("T")
Found = TypeVar("Found")


class Pane(Vertical, Generic[T]):
    """One part. Slow questions run in a thread. The answer to an older question is dropped."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Choose", id="models.choose"),
        Binding("up", "move('cursor_up')", "Up", show=False, id="models.move_cursor_up"),
        Binding("down", "move('cursor_down')", "Down", show=False, id="models.move_cursor_down"),
        Binding("pageup", "move('page_up')", "Page up", show=False, id="models.move_page_up"),
        Binding("pagedown", "move('page_down')", "Page down", show=False, id="models.move_page_down"),
    ]
    PLACEHOLDER: ClassVar[str] = ""
    """The placeholder of the field. A pane without one has no field."""

    @dataclass
    class Load(Message):
        """Load a model or a pair."""

        target: Path | None
        draft: Path | None = None

    @dataclass
    class PickDraft(Message):
        """Choose a draft for a target, and load both."""

        target: Path

    @dataclass
    class Fetch(Message):
        """Download files from the hub."""

        wanted: Wanted

    def compose(self) -> ComposeResult:
        """The field, the list, the details, the message."""
        if self.PLACEHOLDER:
            yield SearchField(placeholder=self.PLACEHOLDER, catch_up=self.catch_up)
        yield Listing[T](self.row)
        with VerticalScroll(classes="details", can_focus=False):
            yield Static(classes="facts")
        yield Static(classes="says")

    @property
    def listing(self) -> Listing[T]:
        """The list."""
        return self.query_one(Listing)

    @property
    def typed(self) -> str:
        """The text in the field."""
        return self.query_one(SearchField).value.strip() if self.PLACEHOLDER else ""

    def row(self, item: T, width: int) -> Content:
        """One item of the list."""
        raise NotImplementedError

    def about(self, item: T) -> Content:
        """The details of an item."""
        raise NotImplementedError

    def enter(self) -> None:
        """Take the keyboard."""
        self.query_one(SearchField if self.PLACEHOLDER else Listing).focus()

    def back(self) -> bool:
        """Go one step back inside the pane. Returns False if there is none."""
        return False

    def on_mount(self) -> None:
        """The field, if there is one, keeps the keyboard."""
        self.listing.can_focus = not self.PLACEHOLDER

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        """Show the details of the row."""
        message.stop()
        self.show_details()

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Choose the row that was clicked."""
        message.stop()
        self.choose()

    def choose(self) -> None:
        """What Enter does with the chosen row."""
        raise NotImplementedError

    def action_choose(self) -> None:
        """Handle Enter."""
        self.choose()

    async def catch_up(self) -> None:
        """Make the list show what was typed before a key acts on it."""

    def action_move(self, how: str) -> None:
        """Move in the list. The keyboard stays in the field."""
        self.listing.move(how)

    def show_details(self) -> None:
        """Show the details of the chosen row."""
        chosen = self.listing.chosen
        self.query_one(".facts", Static).update(Content("") if chosen is None else self.about(chosen))

    def show(self, items: Sequence[T], place: int | None = None) -> None:
        """Show other rows."""
        self.listing.show(items, place)
        self.show_details()

    def say(self, text: str, *, calm: bool = False) -> None:
        """Show a message. A `calm` one is less prominent."""
        line = self.query_one(".says", Static)
        line.set_class(calm, "-calm")
        line.update(Content(clean_line(text)))

    def ask(self, meanwhile: str, question: Callable[[], Found], answer: Callable[[Found], object]) -> None:
        """Ask a question in a thread, with a message meanwhile. An error becomes a message."""
        self.say(meanwhile)

        def work() -> None:
            try:
                result = question()
            except (SpecchatError, EngineError) as error:
                trouble = str(error)
                self._hand_over(lambda: self.say(trouble), task)
                return
            except Stopped:
                return
            self._hand_over(lambda: answer(result), task)

        task = self.run_worker(work, thread=True, exclusive=True, group="asked", exit_on_error=True)

    def _hand_over(self, action: Callable[[], object], task: object) -> None:
        def now() -> None:
            if self.is_attached and not getattr(task, "is_cancelled", False):
                action()

        self.call_later(now)
