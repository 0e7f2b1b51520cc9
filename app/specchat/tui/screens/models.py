"""The model browser: models on this machine, recommended pairs, the hub, downloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import ContentSwitcher, Tab, Tabs

from specchat.chat.commands.model import Role
from specchat.errors import SpecchatError
from specchat.models.downloads import Downloads, Wanted
from specchat.models.library import LibraryModel
from specchat.models.machine import ComputeDevice
from specchat.models.pass_costs import Measured
from specchat.tui.panes.hub import HubPane, Judge
from specchat.tui.panes.local import FetchingPane, HerePane
from specchat.tui.panes.pane import Pane
from specchat.tui.panes.suggested import SuggestedPane
from specchat.tui.widgets.key_row import KeyRow
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import Machine


@dataclass(frozen=True, slots=True)
class LoadPair:
    """Load a target with or without a draft, or another draft for the loaded target."""

    target: Path | None
    draft: Path | None = None


@dataclass(frozen=True, slots=True)
class ChooseDraft:
    """Choose a draft for this target, then load both."""

    target: Path


@dataclass(frozen=True, slots=True)
class Around:
    """What the browser needs.

    Functions that block are called in threads. `fetch` begins a download or raises FetchError.
    """

    models: Callable[[], list[LibraryModel]]
    place: Callable[[], ComputeDevice]
    costs: Callable[[Machine], Measured]
    judge: Judge
    downloads: Downloads
    fetch: Callable[[Wanted], None]
    wanted: Callable[[LibraryModel], Wanted]
    loaded: Sequence[Path]
    options: LoadOptions


class ModelsScreen(ModalScreen[LoadPair | ChooseDraft | None]):
    """Four tabs. Its result is what to load; None if nothing was chosen."""

    CSS_PATH = "models.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "turn(1)", "Next part", id="models.turn_on"),
        Binding("shift+tab", "turn(-1)", "Part before", show=False, id="models.turn_back"),
        Binding("escape", "back", "Back", id="models.back"),
        Binding("f8", "dismiss", "Back", show=False, id="models.dismiss"),
    ]
    TITLES: ClassVar[dict[str, str]] = {
        "here": "On this machine",
        "suggested": "Recommended",
        "hub": "Hub",
        "fetching": "Downloads",
    }

    def __init__(self, around: Around, role: Role | None = None, part: str = "here", first: str = "") -> None:
        """`role` is what to choose a model for, `part` the first tab, `first` the title of a recommended pair."""
        super().__init__()
        self._around = around
        self._role: Role | None = role
        self._part = part
        self._first = first

    def compose(self) -> ComposeResult:
        """The tabs above their parts."""
        around = self._around
        with Vertical(id="panel") as panel:
            panel.border_title = "Models" if self._role is None else f"Models: choose a {self._role}"
            yield Tabs(*(Tab(title, id=name) for name, title in self.TITLES.items()), active=self._part)
            with ContentSwitcher(initial=self._part):
                yield HerePane(around.models, around.loaded, self._role, around.wanted, id="here")
                yield SuggestedPane(around.place, around.costs, around.options, self._first, id="suggested")
                yield HubPane(around.judge, self._role, id="hub")
                yield FetchingPane(around.downloads, id="fetching")
            yield KeyRow()

    def on_mount(self) -> None:
        """Give the keyboard to the first part."""
        self.query_one(Tabs).can_focus = False
        self._pane().enter()

    def on_tabs_tab_activated(self, message: Tabs.TabActivated) -> None:
        """Show another part."""
        if message.tab.id is not None:
            self.query_one(ContentSwitcher).current = message.tab.id
            self._pane().enter()
            self.refresh_bindings()

    def on_pane_load(self, message: Pane.Load) -> None:
        """Load a model or a pair."""
        self.dismiss(LoadPair(message.target, message.draft))

    def on_pane_pick_draft(self, message: Pane.PickDraft) -> None:
        """Choose a draft."""
        self.dismiss(ChooseDraft(message.target))

    def on_pane_fetch(self, message: Pane.Fetch) -> None:
        """Begin a download and show it."""
        try:
            self._around.fetch(message.wanted)
        except SpecchatError as error:
            self._pane().say(str(error))
            return
        self.turn_to("fetching")

    def action_turn(self, steps: int) -> None:
        """Show the next tab, around the end."""
        names = [*self.TITLES]
        now = self.query_one(Tabs).active or self._part
        self.turn_to(names[(names.index(now) + steps) % len(names)])

    def turn_to(self, part: str) -> None:
        """Show this tab."""
        self.query_one(Tabs).active = part

    def action_back(self) -> None:
        """Go one step back."""
        if not self._pane().back():
            self.dismiss(None)

    def _pane(self) -> Pane[Any]:
        return self.query_one(f"#{self.query_one(ContentSwitcher).current or self._part}", Pane)
