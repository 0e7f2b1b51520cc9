"""The replay: recorded answers, round by round, at any speed. The race uses its keys and its transcript too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from specchat.models.labels import recorded_pair, recorded_target
from specchat.stats.curve import fitted
from specchat.stats.line import with_ending
from specchat.stats.turn import TurnModel, TurnView
from specchat.terminal.filter import clean_line
from specchat.traces.timeline import Timeline
from specchat.traces.trace import Trace
from specchat.tui.side_answer import costs_in
from specchat.tui.transcript.answer import TranscriptAnswer, View
from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.dashboard import Dashboard, DashboardRow
from specchat.tui.widgets.deck import Deck, DeckBar
from specchat.tui.widgets.key_row import KeyRow
from specchat_engine.decoding.costs import MeasuredCosts


def deck_bindings(scope: str) -> tuple[Binding, ...]:
    """The keys of a deck. Their ids begin with the name of the screen."""
    return (
        Binding("space", "pause", "Play, pause", id=f"{scope}.pause"),
        Binding("left", "round(-1)", "Round", key_display="← →", id=f"{scope}.round_back"),
        Binding("right", "round(1)", "Round after", show=False, id=f"{scope}.round_on"),
        Binding("plus,equals_sign,up", "faster(1)", "Speed", key_display="+ -", id=f"{scope}.faster_on"),
        Binding("minus,down", "faster(-1)", "Slower", show=False, id=f"{scope}.faster_back"),
        Binding("home", "go(False)", "Ends", key_display="home end", id=f"{scope}.go_start"),
        Binding("end", "go(True)", "End", show=False, id=f"{scope}.go_end"),
    )


class PlayingScreen(Screen[None]):
    """A screen with one deck."""

    def action_pause(self) -> None:
        """Play or pause."""
        self.query_one(DeckBar).toggle()

    def action_round(self, steps: int) -> None:
        """Go to the next round, or the one before."""
        self.query_one(DeckBar).step(steps)

    def action_faster(self, steps: int) -> None:
        """Change the speed."""
        self.query_one(DeckBar).faster(steps)

    def action_go(self, end: bool) -> None:
        """Go to the beginning or the end."""
        self.query_one(DeckBar).go(end=end)


class Played(Transcript, can_focus=False):
    """Shows the first rounds of a trace. The number of rounds can go up and down."""

    def __init__(self, trace: Trace, *, alone: bool = True, id: str | None = None) -> None:  # noqa: A002
        """With `alone`, the question is above the answer and its figures are below."""
        super().__init__(id=id)
        self.trace = trace
        self._alone = alone
        self._view = View.TRACE
        self._count = 0
        self._answer = TranscriptAnswer("")
        self._costs = MeasuredCosts()
        self._model = TurnModel()

    @property
    def count(self) -> int:
        """The number of rounds shown."""
        return self._count

    def figures(self) -> TurnView:
        """The figures of the rounds shown, exact at the end."""
        stats = self.trace.stats
        return self._model.final_view(stats) if self._count == len(self.trace.rounds) else self._model.view()

    def begin(self, trace: Trace) -> None:
        """Show the beginning of a trace."""
        self.trace = trace
        self._count = 0
        self._costs = fitted(costs_in(trace), trace.rounds)
        self._model = TurnModel(self._costs, verifier=str(trace.start.get("verifier") or ""))
        self._answer = TranscriptAnswer(recorded_target(trace.start) or "answer", self._view)
        self._answer.figures = ""
        question = [UserMessage(trace.question)] if self._alone and trace.question else []
        self.load([*question, self._answer])
        if trace.opening is not None:
            self._answer.append([trace.opening])

    def show(self, count: int) -> None:
        """Show this many rounds."""
        if count < self._count:
            self.begin(self.trace)
        new = self.trace.rounds[self._count : count]
        if not new:
            return
        self._count += len(new)
        self._model.observe(new)
        self._answer.append(new)
        if self._count == len(self.trace.rounds):
            self._answer.finish(self._ended(), self.trace.text)
            self._answer.show(self._view)

    def cycle_view(self) -> None:
        """Show the answer in the next view."""
        self._view = self._view.following
        self._answer.show(self._view)

    def _ended(self) -> str:
        """The line below the whole answer."""
        if self.trace.error is not None:
            return f"the turn failed: {self.trace.error}"
        if self.trace.end is None:
            return "the recording stops here: the trace has no end"
        summary = self.figures().line() if self._alone else ""
        return with_ending(self.trace.reason, summary)


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
        Binding("f12,question_mark", "explain", "Explain", id="replay.explain"),
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
        self.query_one(DeckBar).show_note(f"round {played.count} of {len(played.trace.rounds)}")

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

    def action_explain(self) -> None:
        """Explain the figures of the rounds shown."""
        # Imported here because most replays never ask.
        from specchat.tui.screens.explain import figures_screen
        from specchat.tui.screens.help import read_docs

        self.app.push_screen(figures_screen(self.query_one(Dashboard).view, partial(read_docs, self.app)))

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
                (recorded_pair(start), "$text-secondary"),
                (f"   {turn}seed {start['seed']}   {clean_line(self._source)}", "$quiet"),
            )
        )
