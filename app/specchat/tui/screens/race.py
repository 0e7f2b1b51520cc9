"""One prompt, answered plainly and speculatively: recorded one after the other, played side by side from one start."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from specchat.errors import SpecchatError
from specchat.terminal.filter import clean_line
from specchat.traces.race import Race
from specchat.traces.trace import Trace
from specchat.tui.playback import Deck
from specchat.tui.race_rows import lane_title, lead_line, most_lead, verdict_line
from specchat.tui.recording import Recording, from_reading
from specchat.tui.screens.playing import PlayingScreen, deck_bindings
from specchat.tui.widgets.deck_bar import DeckBar
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.played import Played

_PROGRESS = 0.2
_FIRST = "Both are recorded first, one after the other, so that neither takes speed from the other.\n"


class RaceScreen(PlayingScreen):
    """Records both answers, unless Esc stops it, and lets them run."""

    CSS_PATH = "race.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back", id="race.leave"),
        *deck_bindings("race"),
        Binding("f3,v", "view", "View", id="race.view"),
    ]

    def __init__(self, plain: Recording, speculative: Recording, question: str) -> None:
        super().__init__()
        self._recordings = (plain, speculative)
        self._question = question
        self._current: Recording | None = None
        self._race: Race | None = None
        self._most = 0

    def compose(self) -> ComposeResult:
        """What was asked, and how far the recording is."""
        yield Static(Content.assemble(("race   ", "bold"), (clean_line(self._question), "$text-secondary")), id="head")
        yield Static(id="recording")
        yield KeyRow()

    def on_mount(self) -> None:
        """Begins to record."""
        self.set_interval(_PROGRESS, self._show_recording)
        self.run_worker(self._record())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The controls are there when there is something to be played."""
        return action not in ("pause", "round", "faster", "go", "view") or self._race is not None

    async def on_deck_bar_moved(self, message: DeckBar.Moved) -> None:
        """Lets both run as far as they had come by then."""
        race = self._race
        if race is None:
            return
        seconds = self.query_one(DeckBar).place
        sides = (("plain", race.plain), ("speculative", race.speculative))
        for name, runner in sides:
            title, played = self.query_one(f"#{name}-title", Static), self.query_one(f"#{name}", Played)
            title.update(lane_title(name, runner, seconds, title.size.width), layout=False)
            await played.show(runner.timeline.due(seconds))
        lead = self.query_one("#lead", Static)
        lead.update(lead_line(race, seconds, self._most, lead.size.width), layout=False)
        ended = seconds >= race.duration
        self.query_one("#verdict", Static).update(verdict_line(race) if ended else "", layout=False)

    async def action_view(self) -> None:
        """Shows both answers in another way."""
        for played in self.query(Played):
            await played.cycle_view()

    def action_leave(self) -> None:
        """Goes back; what is still being recorded is stopped."""
        for recording in self._recordings:
            if recording is self._current or self._race is None:
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
        """The lanes take the place of what was told of the recording."""
        self._most = most_lead(race)
        lanes = [
            Vertical(Static(id=f"{name}-title", classes="title"), Played(runner.trace, alone=False, id=name))
            for name, runner in (("plain", race.plain), ("speculative", race.speculative))
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
            await played.begin(played.trace)
        self.refresh_bindings()

    def _show_recording(self) -> None:
        current = self._current
        if current is None:
            return
        rows = [(_FIRST, "$quiet")]
        for name, recording in zip(("plain", "speculative"), self._recordings, strict=True):
            tokens = f"{recording.num_tokens} tokens" if recording.num_tokens else ""
            if recording is current:
                rows.append((f"\n  ▶ {name:<12} {tokens or 'reads the prompt'} …", "bold"))
            else:
                rows.append((f"\n    {name:<12} {tokens or 'waits'}", ""))
        rows.append(("\n\nEsc stops it. Nothing of this becomes part of the conversation.", "$quiet"))
        self.query_one("#recording", Static).update(Content.assemble(*rows))
