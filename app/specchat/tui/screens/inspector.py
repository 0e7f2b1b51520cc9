"""The inspector: the tokens of a round, what both models say about them, the alternatives, and branches from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.chat.answer_view import explained_round
from specchat.manual.sections import SectionAddress
from specchat.stats.limits import limit
from specchat.stats.tokens import explain_alternatives
from specchat.terminal.filter import clean, clean_line
from specchat.terminal.palette import LOOKS
from specchat.terminal.pieces import visible
from specchat.traces.trace import Trace
from specchat.tui.pace import Throttle
from specchat.tui.screens.explain import ExplainScreen
from specchat.tui.widgets.key_row import KeyRow
from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.rounds import Outcome

Look = Callable[[int, tuple[int, ...]], Awaitable[Inspection | str]]
"""Inspects an output position and these tokens. Returns a text if that is not possible."""

_PAUSE = 0.25
_WIDTH = 16


@dataclass(frozen=True, slots=True)
class Spot:
    """One token of a round. `position` counts output tokens from 0; it is None for a token that was never compared."""

    id: int
    text: str
    glyph: str
    ink: str
    q: float | None
    p: float | None
    position: int | None
    remark: str = ""


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A row that can be marked: a token at an output position, or None if it was never compared."""

    id: int
    position: int | None
    ends: bool = False


class InspectorScreen(ModalScreen[tuple[int, ...] | None]):
    """One round at a time, over the right side. Its result is the prefix of a branch; None for no branch."""

    CSS_PATH = "inspector.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "branch", "Branch from here", priority=True, id="inspector.branch"),
        Binding("question_mark,f12", "explain", "Explain", key_display="?", id="inspector.explain"),
        Binding("r", "raw", "Raw probabilities", id="inspector.raw"),
        Binding("left", "round(-1)", "Round", key_display="← →", id="inspector.round_back"),
        Binding("right", "round(1)", "Round after", show=False, id="inspector.round_on"),
        Binding("up", "mark(-1)", "Token", key_display="↑ ↓", priority=True, id="inspector.mark_back"),
        Binding("down", "mark(1)", "Down", show=False, priority=True, id="inspector.mark_on"),
        Binding("escape,f4", "dismiss", "Back", id="inspector.dismiss"),
    ]

    def __init__(self, trace: Trace, place: int, mark: int, look: Look, read: Callable[[SectionAddress], None]) -> None:
        """Begin with round `place` of the trace and its token number `mark`.

        `read` opens a section of the documentation.
        """
        super().__init__()
        self._trace = trace
        self._place = min(max(place, 0), len(trace.rounds) - 1)
        self._mark = mark
        self._look = look
        self._read = read
        self._raw = False
        self._spots: list[Spot] = []
        self._position: int | None = None
        self._found: dict[int, Inspection | str] = {}
        self._looking = Throttle(self, _PAUSE, self._begin_to_inspect)

    def compose(self) -> ComposeResult:
        """The round's tokens above the alternatives at the marked position."""
        with VerticalScroll(id="panel") as panel:
            panel.border_title = "Inspector"
            yield Static(id="round")
            yield Static(id="tokens")
            yield Static(id="others")
        yield KeyRow()

    def on_mount(self) -> None:
        """Show what the trace says and ask for the rest."""
        self.query_one("#panel").can_focus = False
        self._show()

    def action_round(self, steps: int) -> None:
        """Show the round before or after."""
        index = min(max(self._place + steps, 0), len(self._trace.rounds) - 1)
        if index != self._place:
            self._place, self._mark = index, len(spots(self._trace, index)) - 1 if steps < 0 else 0
            self._show()

    def action_mark(self, steps: int) -> None:
        """Mark the token above or below. The alternatives come after the round's tokens."""
        self._mark = min(max(self._mark + steps, 0), len(self._choices()) - 1)
        self._show()

    def action_raw(self) -> None:
        """Show probabilities before sampling, or after it."""
        self._raw = not self._raw
        self._show()

    def action_explain(self) -> None:
        """Explain the marked token, beside the others of the round and the alternatives at its position."""
        removed = {
            spot.id: stage
            for spot in self._spots
            if (seen := known(self._inspection(spot.position), spot.id)) and (stage := seen.removed_by)
        }
        inspection = self._inspection(self._position)
        explanations = explained_round(self._trace, self._place, removed)
        explanations += explain_alternatives(inspection) if inspection else []
        title = f"Round {self._place + 1} of {len(self._trace.rounds)}"
        self.app.push_screen(ExplainScreen(explanations, self._mark, self._read, title=title))

    def action_branch(self) -> None:
        """Branch from the marked token."""
        choice = self._choices()[self._mark]
        if choice.position is None or choice.ends:
            why = "it ends the answer" if choice.ends else "it was never compared"
            self.query_one("#others", Static).update(f"cannot branch from this token: {why}")
            return
        self.dismiss(prefix_at(self._trace, choice.position, choice.id))

    def _choices(self) -> list[MarkedToken]:
        """All rows in order: the round's tokens, then the alternatives."""
        inspection = self._inspection(self._position)
        alternatives = inspection.tokens if inspection is not None else ()
        choices = [MarkedToken(spot.id, spot.position, not spot.text) for spot in self._spots]
        return choices + [MarkedToken(token.id, self._position, not token.text) for token in alternatives]

    def _show(self) -> None:
        """Draw the round. The position stays what it is while the mark is on one of its alternatives."""
        event, times = self._trace.rounds[self._place], self._trace.rounds[self._place].ms
        self._spots = spots(self._trace, self._place)
        if self._mark < len(self._spots):
            self._position = self._spots[self._mark].position
        head = Content.assemble(
            (f"round {self._place + 1} of {len(self._trace.rounds)}", "bold"),
            f" · {clean_line(event.source)} · k {event.k} · {times.total:.1f} ms",
            (f" = draft {times.draft:.1f} + verify {times.verify:.1f} + other {times.rollback + times.other:.1f}", ""),
            "\n",
            (" · ".join(part for part in (clean_line(event.reason), limit(event)) if part), "$quiet"),
            ("" if event.sharpness == 1 else f" · drawn from q^{event.sharpness:g}", "$quiet"),
            ("" if event.expected is None else f" · {event.expected:.2f} × plain expected of a draft", "$quiet"),
        )
        self.query_one("#round", Static).update(head)
        self.query_one("#tokens", Static).update(self._table())
        self.query_one("#others", Static).update(self._others())
        self._looking.request()

    def _table(self) -> Content:
        lines = [Content.styled(f"    {'drafted':<{_WIDTH}}   q      p    rank", "$quiet")]
        for number, spot in enumerate(self._spots):
            seen = known(self._inspection(spot.position), spot.id)
            q, p = (seen.raw_q, seen.raw_p) if self._raw and seen else (spot.q, spot.p)
            rank = f"{seen.rank:>5}" if seen else "    –"
            colour = f"$outcome-{spot.ink}"
            name = Content.assemble((spot.glyph, colour), " ", (fitted(visible(clean(spot.text))), colour))
            lines.append(self._line(number, name, f" {share(q)}  {share(p)} {rank}  ", spot.remark))
        return Content("\n").join(lines)

    def _others(self) -> Content:
        """The alternatives at the marked position."""
        if self._position is None:
            return Content.styled("never compared with the target", "$quiet")
        inspection = self._found.get(self._position)
        if inspection is None:
            return Content.styled("inspecting …", "$quiet")
        if isinstance(inspection, str):
            return Content.styled(clean_line(inspection), "$text-warning")
        kind = "before sampling" if self._raw else "after sampling"
        lines = [Content.styled(f"    {'here':<{_WIDTH}}   q      p    rank  draft's rank   {kind}", "$quiet")]
        for number, token in enumerate(inspection.tokens, len(self._spots)):
            q, p = (token.raw_q, token.raw_p) if self._raw else (token.q, token.p)
            draft_rank = "–" if token.draft_rank is None else str(token.draft_rank)
            answered, text = token.id == inspection.said, fitted(visible(clean(token.text)))
            name = Content.assemble(
                ("✓" if answered else " ", "$outcome-bonus"), " ", (text, "bold" if answered else "")
            )
            values = f" {share(q)}  {share(p)} {token.rank:>5}  {draft_rank:>12}   "
            lines.append(self._line(number, name, values, f"removed by {token.removed_by}" if token.removed_by else ""))
        return Content("\n").join(lines)

    def _line(self, number: int, name: Content, values: str, remark: str) -> Content:
        mark = "▸ " if number == self._mark else "  "
        return Content.assemble((mark, "$primary"), name, values, (remark, "$quiet"))

    def _inspection(self, position: int | None) -> Inspection | None:
        inspection = None if position is None else self._found.get(position)
        return inspection if isinstance(inspection, Inspection) else None

    def _begin_to_inspect(self) -> None:
        position = self._position
        if position is not None and position not in self._found:
            self.run_worker(self._inspect(self._place, position), group="inspecting", exclusive=True)

    async def _inspect(self, place: int, position: int) -> None:
        self._found[position] = await self._look(position, asked_at(self._trace, place, position))
        self._show()


def share(value: float | None) -> str:
    """A probability in five cells."""
    if value is None:
        return "  –  "
    return f"{value:5.3f}" if value >= 0.0005 or value == 0 else "<.001"


def fitted(text: str) -> str:
    """A token in a column."""
    content = Content(text).truncate(_WIDTH, ellipsis=True, pad=True)
    return content.plain


def position_of(trace: Trace, place: int) -> int:
    """The output position of the first token of round `place` of the trace."""
    before = len(trace.start.get("prefix", ()))
    return before + sum(event.num_emitted for event in trace.rounds[:place])


def spots(trace: Trace, place: int) -> list[Spot]:
    """The tokens of round `place`, the target's own after the drafted ones. Those without an id are left out."""
    event, at = trace.rounds[place], position_of(trace, place)
    drawn = [*(token.text for token in event.drafted[: event.num_accepted]), event.token.text]
    spots_of_round = []
    for token, depth in zip(event.drafted, event.depths, strict=True):
        if token.id is None:
            continue
        compared = token.outcome is not Outcome.DISCARDED
        remark = ""
        if token.outcome is Outcome.REJECTED and depth < len(drawn) and drawn[depth]:
            remark = f"rejected: the target drew {visible(drawn[depth])}"
        elif not compared:
            remark = "never compared"
        look = LOOKS[token.outcome]
        position = at + depth if compared else None
        spots_of_round.append(
            Spot(token.id, token.text, look.glyph, token.outcome.value, token.q, token.p, position, remark)
        )
    own = event.token
    if own.id is not None:
        look = LOOKS[own.kind]
        spots_of_round.append(
            Spot(own.id, own.text, look.glyph, own.kind.value, None, own.p, at + event.num_accepted, own.kind.value)
        )
    return spots_of_round


def prefix_at(trace: Trace, position: int, token: int) -> tuple[int, ...]:
    """The tokens of the answer before a position, and then this token."""
    return (*trace.tokens[:position], token)


def asked_at(trace: Trace, place: int, position: int) -> tuple[int, ...]:
    """The tokens of a round that were drafted or drawn at one output position."""
    return tuple(dict.fromkeys(spot.id for spot in spots(trace, place) if spot.position == position))


def known(inspection: Inspection | None, token: int) -> InspectedToken | None:
    """What an inspection says about a token; None if it says nothing."""
    if inspection is None:
        return None
    try:
        return inspection.of(token)
    except KeyError:
        return None
