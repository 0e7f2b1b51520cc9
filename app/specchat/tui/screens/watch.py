"""The watch: the answers of a running `specchat serve`, one followed at a time, with the ribbon and the figures."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from specchat.models.labels import pair_name
from specchat.remote.servers import RemoteServer
from specchat.stats.figures.figure import Figure
from specchat.terminal.clipboard import copy
from specchat.terminal.filter import clean_line
from specchat.tui.appearance import legend_line
from specchat.tui.screens.watched_turn import WatchedTurn
from specchat.tui.transcript.answer import View
from specchat.tui.transcript.entries import TranscriptNotice
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.dashboard import Dashboard, DashboardRow
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.watch_bar import WatchBar
from specchat.watching.client import WatchClient
from specchat.watching.events import (
    Away,
    Began,
    Connected,
    Failed,
    Over,
    RoundEvent,
    Running,
    TurnedAway,
    Unreadable,
    WatchEvent,
)
from specchat.watching.followed import Following, LiveAnswer
from specchat_engine.load_options import ModelInfo

_INTERVAL = 1 / 12
"""Seconds between two looks at what arrived."""

_MOST_ENTRIES = 400
"""Entries of the transcript; older ones are removed."""


class Watched(Transcript, can_focus=False):
    """The answers that were followed."""


class WatchScreen(Screen[None]):
    """Shows what the clients of a server ask and get. Nothing can be asked here, and nothing is stored."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,tab", "next_answer", "Next request", key_display="n", id="watch.next"),
        Binding("f3,v", "view", "View", key_display="F3", id="watch.view"),
        Binding("f9", "figures", "Figures", id="watch.figures"),
        Binding("f12,question_mark", "explain", "Explain", id="watch.explain"),
        Binding("pageup", "scroll('page_up')", "Scroll", key_display="PgUp PgDn", id="watch.page_up"),
        Binding("pagedown", "scroll('page_down')", "Scroll down", show=False, id="watch.page_down"),
        Binding("home,ctrl+home", "scroll('home')", "To the start", show=False, id="watch.home"),
        Binding("end,ctrl+end", "scroll('end')", "To the end", show=False, id="watch.end"),
        Binding("ctrl+c", "copy_or_quit", "Copy or quit", show=False, id="watch.copy_or_quit"),
    ]

    def __init__(self, client: WatchClient, server: RemoteServer) -> None:
        """`server` is what the client is connected to now."""
        super().__init__()
        self._client = client
        self._server = server
        self._host = clean_line(client.address.host)
        self._arrived: deque[WatchEvent] = deque()
        self._following = Following()
        self._turns: dict[LiveAnswer, WatchedTurn] = {}
        self._view = View.TRACE
        self._trouble = ""

    def compose(self) -> ComposeResult:
        """The answers, the figures, and in place of a prompt what is followed."""
        yield Static(id="head")
        with Horizontal(id="middle"):
            yield Watched(id="watched")
            yield Dashboard(id="panel")
        yield DashboardRow(id="row")
        yield WatchBar(self._host)
        with Horizontal(id="keys"):
            yield KeyRow()
            yield Static(legend_line(), id="legend")

    def on_mount(self) -> None:
        """Begin to watch."""
        self._notice(f"What the clients of {self._host} ask appears here; nothing is stored.")
        self._show_server()
        self._show_status()
        self.run_worker(self._listen, group="watch", thread=True)
        self.set_interval(_INTERVAL, self._take_all)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the next request only if there is one."""
        return action != "next_answer" or self._following.others > 0

    def on_dashboard_explain(self, message: Dashboard.Explain) -> None:
        """Explain the figure that is marked."""
        self._explain(message.figure)

    def on_dashboard_left(self) -> None:
        """Go back from the figures to the answers."""
        self.remove_class("-figures")
        self.set_focus(None)

    def action_next_answer(self) -> None:
        """Follow the next answer that runs."""
        answer = self._following.follow_next()
        if answer is not None:
            self._show(answer, go_there=True)
            self._show_figures()
            self._show_status()

    def action_view(self) -> None:
        """Show the answer in view in another way; later answers stream that way too."""
        shown = self.query_one(Watched).answer_in_view()
        if shown is not None:
            view = shown.cycle_view()
            self._view = view if shown.live else self._view

    def action_figures(self) -> None:
        """Explain the figures; hide them if they are explained already."""
        dashboard = self.query_one(Dashboard)
        hide = dashboard.has_focus
        self.set_class(hide, "-no-figures")
        self.set_class(not hide, "-figures")
        if hide:
            self.set_focus(None)
        else:
            self.call_after_refresh(dashboard.focus)

    def action_explain(self) -> None:
        """Explain the figures."""
        self._explain()

    def action_scroll(self, where: str) -> None:
        """Scroll the answers."""
        self.query_one(Watched).move(where)

    def action_copy_or_quit(self) -> None:
        """Copy the selection; without one, quit."""
        selected = self.get_selected_text()
        if selected:
            self.clear_selection()
            self.notify(copy(selected, self.app.copy_to_clipboard))
        else:
            self.app.exit()

    def _explain(self, figure: Figure | None = None) -> None:
        # Imported here because most people who watch never ask.
        from specchat.tui.screens.explain import figures_screen
        from specchat.tui.screens.help import read_docs

        self.app.push_screen(figures_screen(self.query_one(Dashboard).view, partial(read_docs, self.app), figure))

    def _listen(self) -> None:
        for event in self._client.events():
            self._arrived.append(event)

    def _take_all(self) -> None:
        """Takes what arrived since the last look, and draws once."""
        events = [self._arrived.popleft() for _ in range(len(self._arrived))]
        if not events:
            return
        changed: set[LiveAnswer | None] = set()
        for event in events:
            changed |= {*self._take(event)}
            if (answer := self._following.choose()) is not None:
                self._show(answer)
        for watched, turn in [*self._turns.items()]:
            if watched in changed:
                turn.update()
        self._show_figures()
        self._turns = {
            answer: turn
            for answer, turn in self._turns.items()
            if not answer.over or answer is self._following.followed
        }
        self._show_status()

    def _take(self, event: WatchEvent) -> Sequence[LiveAnswer | None]:
        """Takes an event and returns the answers that it changed."""
        following = self._following
        match event:
            case Connected(server=server):
                if self._trouble:
                    self._notice("connected again")
                self._trouble, self._server = "", server
                self._show_server()
            case Running(numbers=numbers, lost=lost):
                if lost:
                    self._notice(f"{lost:,} events came too fast and were left out; running answers begin again")
                return following.only(numbers)
            case Began(number=number, start=start):
                following.began(number, start)
            case RoundEvent(number=number, round=made):
                return [following.made(number, made)]
            case Failed(number=number, message=message):
                following.failed(number, message)
            case Over(number=number, end=end):
                return [following.ended(number, end)]
            case Unreadable(reason=reason):
                self._notice(f"a message of the server was left out: {reason}")
            case Away(reason=reason, wait_seconds=wait):
                if not self._trouble:
                    self._notice(reason, failure=True)
                self._trouble = f"{reason} (trying again in {wait:g} s)"
                return following.only()
            case TurnedAway(reason=reason):
                self._trouble = reason
                self._notice(reason, failure=True)
                return following.only()
        return ()

    def _show_server(self) -> None:
        server = self._server
        draft = ModelInfo(server.draft, "") if server.draft else None
        self.query_one("#head", Static).update(
            Content.assemble(
                ("watching ", "bold"),
                (self._host, "bold $text-secondary"),
                (f"   {pair_name(server.model, draft)}", "$text-secondary"),
                (f"   specchat {server.version}", "$quiet"),
            )
        )

    def _show(self, answer: LiveAnswer, *, go_there: bool = False) -> None:
        """Shows an answer at the end of the transcript; moves it there if it is above."""
        transcript = self.query_one(Watched)
        turn = self._turns.get(answer)
        if turn is None:
            turn = self._turns[answer] = WatchedTurn(answer, self._view)
        else:
            for entry in turn.entries:
                entry.remove()
        for entry in turn.entries:
            transcript.add(entry, follow=go_there)
        turn.update()
        while transcript.following and len(transcript.entries) > _MOST_ENTRIES:
            transcript.entries[0].remove()

    def _notice(self, text: str, *, failure: bool = False) -> None:
        """Adds a notice, unless it is the same as the last entry."""
        transcript, notice = self.query_one(Watched), TranscriptNotice(text, failure=failure)
        last = transcript.entries[-1] if transcript.entries else None
        if not (isinstance(last, TranscriptNotice) and last.text == notice.text):
            transcript.add(notice)

    def _show_figures(self) -> None:
        followed = self._following.followed
        if followed is not None and followed in self._turns:
            figures = self._turns[followed].figures()
            self.query_one(Dashboard).show(figures)
            self.query_one(DashboardRow).show(figures)

    def _show_status(self) -> None:
        self.query_one(WatchBar).show(self._following, self._trouble)
        self.refresh_bindings()
