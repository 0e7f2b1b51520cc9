"""What the race and the replay share: the keys of the deck, and a transcript that plays a trace."""

from __future__ import annotations

from textual.binding import Binding
from textual.screen import Screen

from specchat.chat.session import plain_ms_of
from specchat.chat.turn import TurnModel, TurnView
from specchat.stats.curve import fitted
from specchat.stats.line import with_ending
from specchat.traces.exports.document import target_of
from specchat.traces.trace import Trace
from specchat.tui.reviewing import costs_in
from specchat.tui.transcript.answer import Answer, View
from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.deck import DeckBar
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
        self._answer = Answer("")
        self._costs = MeasuredCosts()
        self._model = TurnModel()

    @property
    def count(self) -> int:
        """The number of rounds shown."""
        return self._count

    def figures(self) -> TurnView:
        """The figures of the rounds shown, exact at the end."""
        stats = self.trace.stats
        return (
            self._model.final_view(stats, self._costs) if self._count == len(self.trace.rounds) else self._model.view()
        )

    def begin(self, trace: Trace) -> None:
        """Show the beginning of a trace."""
        self.trace = trace
        self._count = 0
        self._costs = fitted(costs_in(trace), trace.rounds)
        self._model = TurnModel(plain_ms_of(trace.stats), self._costs)
        self._answer = Answer(target_of(trace.start) or "answer", self._view)
        self._answer.figures = ""
        asked = [UserMessage(trace.question)] if self._alone and trace.question else []
        self.load([*asked, self._answer])
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
        summary = self.figures().summary() if self._alone else ""
        return with_ending(self.trace.reason, summary)
