"""The statistics window: figures and charts of an answer, the session, the pair, and all pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static, TabbedContent, TabPane

from specchat.stats.charts import Line, as_text
from specchat.terminal.clipboard import copy
from specchat.tui.screens.statistics_pages import Page, charted

_FRAME = 6
_KEYS = "← → tabs   ↑ ↓ scroll   Esc closes   C copies"
_FEWER_KEYS = "← → tabs   Esc closes"


class StatisticsScreen(ModalScreen[None]):
    """One page a tab. A page is laid out when it is shown, and again when the width changes."""

    CSS_PATH = "statistics.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f7,q", "dismiss", "Close", id="statistics.dismiss"),
        Binding("left", "turn(-1)", "Tab before", priority=True, id="statistics.turn_back"),
        Binding("right", "turn(1)", "Tab after", priority=True, id="statistics.turn_on"),
        Binding("up", "scroll(-1)", "Up", priority=True, id="statistics.scroll_back"),
        Binding("down", "scroll(1)", "Down", priority=True, id="statistics.scroll_on"),
        Binding("pageup", "scroll(-10)", "Up", priority=True, id="statistics.page_up"),
        Binding("pagedown,space", "scroll(10)", "Down", priority=True, id="statistics.page_down"),
        Binding("c", "copy", "Copy", id="statistics.copy"),
    ]

    def __init__(self, pages: Mapping[str, Page], first: str) -> None:
        """Begin with the page of this name."""
        super().__init__()
        self._pages = dict(pages)
        self._first = first

    def compose(self) -> ComposeResult:
        """The tabs in a frame."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Statistics"
            with TabbedContent(initial=_id(self._first)):
                for name in self._pages:
                    with TabPane(name, id=_id(name)), VerticalScroll(can_focus=False):
                        yield Static(classes="page")

    def on_resize(self) -> None:
        """Lay the page out again."""
        self.call_after_refresh(self._show)

    def on_tabbed_content_tab_activated(self) -> None:
        """Show a page."""
        self.call_after_refresh(self._show)

    def action_turn(self, steps: int) -> None:
        """Show another tab."""
        tabs = self.query_one(TabbedContent)
        names = [_id(name) for name in self._pages]
        tabs.active = names[(names.index(tabs.active) + steps) % len(names)]

    def action_scroll(self, rows: int) -> None:
        """Scroll the page."""
        pane = self.query_one(TabbedContent).active_pane
        if pane is not None:
            pane.query_one(VerticalScroll).scroll_relative(y=rows, animate=False, immediate=True)

    def action_copy(self) -> None:
        """Copy the page as text."""
        pane = self.query_one(TabbedContent).active_pane
        if pane is not None:
            done = copy(as_text(self._lines(pane)), self.app.copy_to_clipboard)
            self.query_one("#panel").border_subtitle = f"{self._keys()}: {done}"

    def _show(self) -> None:
        pane = self.query_one(TabbedContent).active_pane
        if pane is not None:
            self.query_one("#panel").border_subtitle = self._keys()
            pane.query_one(".page", Static).update(charted(self._lines(pane)))

    def _keys(self) -> str:
        return _KEYS if len(_KEYS) <= self._width() else _FEWER_KEYS

    def _width(self) -> int:
        return max(self.query_one("#panel").size.width - _FRAME, 20)

    def _lines(self, pane: TabPane) -> Sequence[Line]:
        """The lines of this tab's page at the current width."""
        page = next(page for name, page in self._pages.items() if _id(name) == pane.id)
        return page(self._width())


def _id(name: str) -> str:
    return name.replace(" ", "-").lower()
