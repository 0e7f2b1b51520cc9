"""The draft picker: every model of this machine that could draft for a target, with the reasons for and against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.worker import get_current_worker

from specchat.errors import SpecchatError
from specchat.models.candidates import Candidate, ranked
from specchat.terminal import clean_line
from specchat.tui.model_rows import candidate_row, verdict_lines
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.listing import Listing
from specchat_engine.errors import EngineError

Judge = Callable[[], Iterator[Candidate]]
_MOST = 500


@dataclass(frozen=True, slots=True)
class PickedDraft:
    """What was chosen: a draft model, or None for a target that answers without one."""

    draft: Path | None


class DraftsScreen(ModalScreen[PickedDraft | None]):
    """A list over the chat; its result is what was picked, None where nothing was."""

    CSS_PATH = "models.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "pick", "Load", priority=True, id="drafts.pick"),
        Binding("escape,f8", "back", "Back", priority=True, id="drafts.back"),
    ]

    def __init__(self, target: str, judge: Judge, *, timed: Sequence[Path] = (), can_do_without: bool = True) -> None:
        """`judge` reads headers and is called in a thread; `timed` are drafts that were timed here, the best first."""
        super().__init__()
        self._target = target
        self._judge = judge
        self._timed = timed
        self._without: list[None] = [None] if can_do_without else []
        self._found: list[Candidate] = []

    def compose(self) -> ComposeResult:
        """The list above what speaks for and against its chosen row."""
        with Vertical(id="panel") as panel:
            panel.border_title = Content(f"A draft for {clean_line(self._target)}")
            yield Static(Content("its name, a draft step in target steps, the memory that it adds"), classes="hint")
            yield Listing[Candidate | None](self._row, id="list")
            with VerticalScroll(id="details", can_focus=False):
                yield Static(id="facts")
            yield Static("reading headers …", id="says")
            yield KeyRow()

    def on_mount(self) -> None:
        """Judges every model, in a thread."""
        self.query_one(Listing).show(self._without)
        self.query_one(Listing).focus()
        self._read()

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        """Tells all about the row."""
        message.stop()
        chosen = self.query_one(Listing).chosen
        if chosen is None:
            text = Content("The target answers alone, or with prompt lookup, which needs no draft model.")
        elif chosen.verdict is None:
            text = Content(clean_line(chosen.problem))
        else:
            text = verdict_lines(chosen.verdict)
        self.query_one("#facts", Static).update(text)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """A click picks."""
        message.stop()
        self.action_pick()

    def action_pick(self) -> None:
        """Takes the row, unless it cannot be loaded."""
        listing: Listing[Candidate | None] = self.query_one(Listing)
        if not listing.items:
            return
        chosen = listing.chosen
        if chosen is not None and not chosen.fits:
            self._say(f"{chosen.entry.name} cannot draft here: {chosen.reason}")
        else:
            self.dismiss(PickedDraft(None if chosen is None else chosen.entry.path))

    def action_back(self) -> None:
        """Leaves things as they are."""
        self.dismiss(None)

    @work(thread=True, exclusive=True, group="judge")
    def _read(self) -> None:
        worker = get_current_worker()
        found: list[Candidate] = []
        trouble = ""
        try:
            for one in self._judge():
                if worker.is_cancelled:
                    return
                found.append(one)
                if len(found) == _MOST:
                    break
        except (SpecchatError, EngineError) as error:
            trouble = str(error)
        self.call_later(self._show, found, trouble)

    def _show(self, found: list[Candidate], trouble: str) -> None:
        if not self.is_attached or not self.query(Listing):
            return  # something was picked before the last header was read
        self._found = ranked(found, self._timed)
        listing: Listing[Candidate | None] = self.query_one(Listing)
        best = next((place for place, one in enumerate(self._found) if one.fits), None)
        fitting = [one for one in self._found if one.fits]
        others = [one for one in self._found if not one.fits]
        listing.show([*fitting, *self._without, *others], 0 if best is not None else None)
        self._say(trouble or ("" if fitting else "no model of this machine can draft for it: F8 finds others"))
        self.query_one("#panel").border_subtitle = f"{len(fitting)} of {len(self._found)} fit"

    def _row(self, one: Candidate | None, width: int) -> Content:
        if one is None:
            return Content("– no draft model").pad_right(max(width - 16, 0))
        place = [path.resolve() for path in self._timed]
        timed = one.entry.path.resolve() in place
        return candidate_row(one, width, "timed ★" if timed else "")

    def _say(self, text: str) -> None:
        self.query_one("#says", Static).update(Content(clean_line(text)))
