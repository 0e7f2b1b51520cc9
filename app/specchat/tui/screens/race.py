"""The race: one prompt answered with and without speculation, recorded one after the other and played side by side."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from specchat.errors import SpecchatError
from specchat.terminal.blocks import speed
from specchat.terminal.filter import clean_line
from specchat.traces.timeline import Race, Timeline
from specchat.traces.trace import Trace
from specchat.tui.screens.replay import Played, PlayingScreen, deck_bindings
from specchat.tui.side_answer import SideAnswer, from_reading
from specchat.tui.widgets.deck import Deck, DeckBar, clock
from specchat.tui.widgets.key_row import KeyRow

_PROGRESS = 0.2
_FIRST = "Both are recorded first, one after the other, so that neither slows the other down.\n"


class RaceScreen(PlayingScreen):
    """Records both answers, then plays them. Esc stops the recording."""

    CSS_PATH = "race.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", id="race.leave"),
        *deck_bindings("race"),
        Binding("f3,v", "view", "View", id="race.view"),
    ]

    def __init__(self, plain: SideAnswer, speculative: SideAnswer, question: str) -> None:
        super().__init__()
        self._recordings = (plain, speculative)
        self._question = question
        self._current: SideAnswer | None = None
        self._race: Race | None = None
        self._most = 0

    def compose(self) -> ComposeResult:
        """The question, and the progress of the recording."""
        yield Static(Content.assemble(("race   ", "bold"), (clean_line(self._question), "$text-secondary")), id="head")
        yield Static(id="recording")
        yield KeyRow()

    def on_mount(self) -> None:
        """Begin to record."""
        self.set_interval(_PROGRESS, self._show_recording)
        self.run_worker(self._record())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the controls only when there is something to play."""
        return action not in ("pause", "round", "faster", "go", "view") or self._race is not None

    def on_deck_bar_moved(self, message: DeckBar.Moved) -> None:
        """Show both answers as far as they had come at this time."""
        race = self._race
        if race is None:
            return
        seconds = self.query_one(DeckBar).place
        sides = (("plain", race.plain), ("speculative", race.speculative))
        for name, timeline in sides:
            title, played = self.query_one(f"#{name}-title", Static), self.query_one(f"#{name}", Played)
            title.update(lane_title(name, timeline, seconds, title.size.width), layout=False)
            played.show(timeline.due(seconds))
        lead = self.query_one("#lead", Static)
        lead.update(lead_line(race, seconds, self._most, lead.size.width), layout=False)
        ended = seconds >= race.duration
        self.query_one("#verdict", Static).update(verdict_line(race) if ended else "", layout=False)

    def action_view(self) -> None:
        """Show both answers in the next view."""
        for played in self.query(Played):
            played.cycle_view()

    def action_leave(self) -> None:
        """Stop the recording if it runs, and go back."""
        if self._race is None:
            for recording in self._recordings:
                recording.stop()
        self.dismiss()

    async def _record(self) -> None:
        traces: list[Trace] = []
        try:
            for recording in self._recordings:
                self._current = recording
                trace = await asyncio.to_thread(recording.run)
                if trace is None:
                    return
                traces.append(from_reading(trace))
            self._race = Race.of(*traces)
        except SpecchatError as error:
            self._current = None
            self.query_one("#recording", Static).update(Content.styled(f"✕ {clean_line(str(error))}", "$text-warning"))
            return
        self._current = None
        await self._start(self._race)

    async def _start(self, race: Race) -> None:
        """Replace the progress with the lanes."""
        self._most = most_lead(race)
        lanes = [
            Vertical(Static(id=f"{name}-title", classes="title"), Played(timeline.trace, alone=False, id=name))
            for name, timeline in (("plain", race.plain), ("speculative", race.speculative))
        ]
        marks = sorted({event.t_ms / 1000 for side in (race.plain, race.speculative) for event in side.trace.rounds})
        await self.query_one("#recording").remove()
        await self.mount(
            Horizontal(*lanes, id="lanes"),
            Static(id="lead"),
            Static(id="verdict"),
            DeckBar(Deck.of(marks), id="deck"),
            before=self.query_one(KeyRow),
        )
        for played in self.query(Played):
            played.begin(played.trace)
        self.refresh_bindings()

    def _show_recording(self) -> None:
        current = self._current
        if current is None:
            return
        rows = [(_FIRST, "$quiet")]
        for name, recording in zip(("plain", "speculative"), self._recordings, strict=True):
            tokens = f"{recording.num_tokens} tokens" if recording.num_tokens else ""
            if recording is current:
                rows.append((f"\n  ▶ {name:<12} {tokens or 'reading the prompt'} …", "bold"))
            else:
                rows.append((f"\n    {name:<12} {tokens or 'waiting'}", ""))
        rows.append(("\n\nEsc stops it. The race does not become part of the conversation.", "$quiet"))
        self.query_one("#recording", Static).update(Content.assemble(*rows))


_NAMES = ("plain", "speculative")
_LEAST_BAR = 10
_WIDE = 52


def lane_title(name: str, timeline: Timeline, seconds: float, width: int) -> Content:
    """The title of one lane:

    name, clock, tokens/s so far, and the number of tokens if there is room. The clock stops at the end.
    """
    done = seconds >= timeline.duration
    tokens = f" {timeline.tokens(seconds):>6} tokens" if width >= _WIDE else ""
    return Content.assemble(
        (f"{name:<12}", "bold $text-secondary"),
        (clock(min(seconds, timeline.duration)), "bold" if done else ""),
        (" ■ " if done else " ▶ ", "$quiet"),
        (speed(timeline.tokens_per_second(seconds)), "bold"),
        (f" tok/s{tokens}", "$quiet"),
    ).truncate(width, ellipsis=True)


def most_lead(race: Race) -> int:
    """The largest lead of either side, in tokens."""
    moments = [event.t_ms / 1000 for timeline in (race.plain, race.speculative) for event in timeline.trace.rounds]
    return max((abs(race.lead(seconds)) for seconds in moments), default=0)


def lead_line(race: Race, seconds: float, most: int, width: int) -> Content:
    """A bar from the middle towards the side that leads, and the lead in tokens: the last one before either ended."""
    end = min(race.plain.duration, race.speculative.duration)
    lead = race.lead(min(seconds, end))
    ahead = _NAMES[lead > 0]
    text = (
        f"  {ahead} {'won' if seconds >= end else 'leads'} by {abs(lead)} token{'s' * (abs(lead) > 1)}"
        if lead
        else "  level"
    )
    room = (width - 36) // 2
    if room < _LEAST_BAR:
        return Content(f"lead{text}").truncate(width)
    length = round(room * abs(lead) / most) if most else 0
    length = max(length, 1) if lead else 0
    left = "█" * length if lead < 0 else ""
    right = "█" * length if lead > 0 else ""
    return Content.assemble(
        ("░" * (room - len(left)), "$quiet"),
        (left, "$outcome-plain"),
        ("│", "bold"),
        (right, "$outcome-accepted"),
        ("░" * (room - len(right)), "$quiet"),
        text,
    )


def verdict_line(race: Race) -> Content:
    """Whether the texts are equal, and how much faster speculation was."""
    verdict = race.verdict()
    sign, style = ("✓ ", "bold $outcome-accepted") if verdict.equal else ("✕ ", "bold $text-warning")
    equal_lengths = "" if verdict.equal else ", for as many tokens"
    times = f"   {race.ratio:.2f} × as fast as plain{equal_lengths}" if race.ratio else ""
    return Content.assemble((sign + verdict.words, style), (times, "bold"))
