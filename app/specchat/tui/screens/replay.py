"""The replay: recorded answers, round by round, at any speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from specchat.terminal.filter import clean_line
from specchat.traces.exports.document import pair_of
from specchat.traces.timeline import Timeline
from specchat.traces.trace import Trace
from specchat.tui.dashboard.dashboard import Dashboard, DashboardRow
from specchat.tui.screens.playing import Played, PlayingScreen, deck_bindings
from specchat.tui.widgets.deck import Deck, DeckBar
from specchat.tui.widgets.key_row import KeyRow


class ReplayScreen(PlayingScreen):
    """Plays one turn of a trace at a time."""

    CSS_PATH = "replay.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Back", id="replay.dismiss"),
        *deck_bindings("replay"),
        Binding("n", "turn(1)", "Turn", key_display="n p", id="replay.turn_on"),
        Binding("p", "turn(-1)", "Turn before", show=False, id="replay.turn_back"),
        Binding("f3,v", "view", "View", id="replay.view"),
        Binding("pageup", "scroll('page_up')", "Scroll up", show=False, id="replay.scroll_page_up"),
        Binding("pagedown", "scroll('page_down')", "Scroll down", show=False, id="replay.scroll_page_down"),
    ]

    def __init__(self, traces: Sequence[Trace], turn: int = 0, source: str = "") -> None:
        """Begin with this turn. `source` says where the turns come from."""
        super().__init__()
        self._traces = traces
        self._turn = turn
        self._source = source
        self._timeline = Timeline(traces[turn])

    def compose(self) -> ComposeResult:
        """The answer, its figures and the controls."""
        yield Static(id="head")
        with Horizontal(id="middle"):
            yield Played(self._traces[self._turn], id="played")
            yield Dashboard(id="panel")
        yield DashboardRow(id="figures")
        yield DeckBar(self._deck(), id="deck")
        yield KeyRow()

    def on_mount(self) -> None:
        """Show the beginning."""
        self.query_one(Dashboard).can_focus = False
        self.query_one(Played).begin(self._traces[self._turn])
        self._show_head()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the keys for turns only if there are several."""
        return action != "turn" or len(self._traces) > 1

    def on_deck_bar_moved(self, message: DeckBar.Moved) -> None:
        """Show the rounds up to the current time."""
        played = self.query_one(Played)
        played.show(self._timeline.due(self.query_one(DeckBar).place))
        figures = played.figures()
        self.query_one(Dashboard).show(figures)
        self.query_one(DashboardRow).show(figures)
        self.query_one(DeckBar).tell(f"round {played.count} of {len(played.trace.rounds)}")

    def action_turn(self, steps: int) -> None:
        """Play another turn of the trace."""
        self._turn = (self._turn + steps) % len(self._traces)
        self._timeline = Timeline(self._traces[self._turn])
        self.query_one(Played).begin(self._traces[self._turn])
        self.query_one(DeckBar).begin(self._deck())
        self._show_head()

    def action_view(self) -> None:
        """Show the answer in the next view."""
        self.query_one(Played).cycle_view()

    def action_scroll(self, where: str) -> None:
        """Scroll the answer."""
        self.query_one(Played).move(where)

    def _deck(self) -> Deck:
        return Deck.of([event.t_ms / 1000 for event in self._traces[self._turn].rounds])

    def _show_head(self) -> None:
        start = self._traces[self._turn].start
        turn = f"turn {self._turn + 1} of {len(self._traces)}   " if len(self._traces) > 1 else ""
        self.query_one("#head", Static).update(
            Content.assemble(
                ("replay   ", "bold"),
                (pair_of(start), "$text-secondary"),
                (f"   {turn}seed {start['seed']}   {clean_line(self._source)}", "$quiet"),
            )
        )
