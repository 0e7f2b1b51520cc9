"""The window of the first start: begin with the built-in pair, or choose a model that fits this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key, Paste
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static

from specchat.tui.widgets.listing import Listing, row, suggestion_row

if TYPE_CHECKING:
    from specchat.models.suggestion import Suggestion

_ABOUT = "The built-in pair answers at once, offline. It is small and knows speculative decoding and some Python."
_HINT = "↑ ↓ Enter · or just type a question · Esc"
_LOOK = 0.2


class WelcomeStep(Enum):
    """What to begin with, apart from a recommended pair."""

    START = auto()
    TOUR = auto()
    SEARCH = auto()
    MODELS = auto()


@dataclass(frozen=True, slots=True)
class WelcomeRow:
    """One row: a step with its text, or a recommended pair."""

    step: WelcomeStep | None
    text: str = ""
    about: str = ""
    pair: Suggestion | None = None


@dataclass(frozen=True, slots=True)
class Fitting:
    """What fits this machine, the machine in words, and a line to add about it."""

    words: str
    pairs: list[Suggestion]
    note: str = ""


_FIRST = (
    WelcomeRow(WelcomeStep.START, "Start with the built-in pair", "Enter"),
    WelcomeRow(WelcomeStep.TOUR, "Take the tour", "two minutes"),
)
_LAST = (
    WelcomeRow(WelcomeStep.SEARCH, "Search the hub", ""),
    WelcomeRow(WelcomeStep.MODELS, "My models", "F8, at any time"),
)


class FirstRunScreen(ModalScreen[WelcomeRow]):
    """A list over the chat while the built-in pair is loaded. Typed text goes to the prompt."""

    CSS_PATH = "first_run.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Start", priority=True, id="first.leave"),
        Binding("up", "move(-1)", "Up", show=False, priority=True, id="first.up"),
        Binding("down", "move(1)", "Down", show=False, priority=True, id="first.down"),
    ]

    def __init__(
        self,
        ready: Callable[[], bool],
        fitting: Callable[[], Fitting],
        write: Callable[[str], None],
        send: Callable[[], None],
    ) -> None:
        """`fitting` blocks; it is called in a thread once `ready`. `write` and `send` belong to the prompt."""
        super().__init__()
        self._ready = ready
        self._fitting = fitting
        self._write = write
        self._send = send
        self._left = False

    def compose(self) -> ComposeResult:
        """The list, and the pairs that fit as soon as they are known."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Welcome to specchat"
            panel.border_subtitle = Content(_HINT)
            yield Static(Content(_ABOUT), classes="words")
            yield Listing[WelcomeRow](self._row, id="first")
            yield Static("For real work: looking at this machine …", id="machine", classes="words")
            yield Listing[WelcomeRow](self._row, id="fitting")
            yield Listing[WelcomeRow](self._row, id="last")

    def on_mount(self) -> None:
        """Look at the machine once the pair is loaded."""
        self._show("#first", [*_FIRST])
        self._show("#fitting", [])
        self._show("#last", [*_LAST])
        first = self.query_one("#first", Listing)
        first.highlighted = 0
        first.focus()
        self._clock = self.set_interval(_LOOK, self._wait)

    def on_key(self, event: Key) -> None:
        """Begin a question with a printable key."""
        if event.is_printable and event.character:
            event.stop()
            event.prevent_default()
            self._begin(event.character)

    def on_paste(self, event: Paste) -> None:
        """Begin a question with pasted text."""
        event.stop()
        self._begin(event.text)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Take the row. If a question has been typed, Enter sends it."""
        message.stop()
        chosen = message.option_list.chosen if isinstance(message.option_list, Listing) else None
        if self._left:
            self._send()
        elif isinstance(chosen, WelcomeRow):
            self._leave(chosen)

    def action_leave(self) -> None:
        """Start with the built-in pair."""
        self._leave(_FIRST[0])

    def _begin(self, text: str) -> None:
        self._write(text)
        self.action_leave()

    def _leave(self, offer: WelcomeRow) -> None:
        if not self._left:
            self._left = True
            self.dismiss(offer)

    def action_move(self, steps: int) -> None:
        """Mark the next row, across the lists."""
        rows = [
            (listing, row)
            for listing in self.query(Listing).results()
            for row in range(listing.option_count)
            if listing.display
        ]
        # Only one list has a marked row. The focus is updated too late for keys that follow fast.
        now = next((at for at, (listing, row) in enumerate(rows) if listing.highlighted == row), 0)
        chosen, row = rows[(now + steps) % len(rows)]
        for listing in self.query(Listing).results():
            listing.highlighted = row if listing is chosen else None
        chosen.focus()

    def _wait(self) -> None:
        if self._ready():
            self._clock.stop()
            self._look()

    @work(thread=True)
    def _look(self) -> None:
        fitting = self._fitting()
        self.call_later(self._know, fitting)

    def _know(self, fitting: Fitting) -> None:
        if self.is_attached and self.query("#machine"):
            words = (
                f"For real work on this machine ({fitting.words}):"
                if fitting.pairs
                else f"This machine: {fitting.words}"
            )
            lines = [words, *([fitting.note] if fitting.pairs and fitting.note else [])]
            self.query_one("#machine", Static).update(Content("\n".join(lines)))
            self._show("#fitting", [WelcomeRow(None, pair=pair) for pair in fitting.pairs])

    def _show(self, name: str, offers: list[WelcomeRow]) -> None:
        listing: Listing[WelcomeRow] = self.query_one(name, Listing)
        listing.show(offers)
        listing.highlighted = None
        listing.display = bool(offers)

    def _row(self, offer: WelcomeRow, width: int) -> Content:
        if offer.pair is not None:
            return suggestion_row(offer.pair, width)
        return row(width, Content("  "), offer.text, (offer.about, 16), style="bold")
