"""Events of the engine: which parts of the chat they concern, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from specchat.chat.turn import TurnView
from specchat.tui.screens.chat.parts import ChatParts
from specchat.tui.screens.chat.state import RunningTurn
from specchat.worker.protocol import Ended, Event, Loaded, Loading, Notice, Started, WorkerFailed
from specchat_engine.decoding.rounds import Round


class EngineEvents:
    """Takes the events of a load or of an answer."""

    def __init__(self, owner: Widget, parts: ChatParts, resume: int | None) -> None:
        """`owner` runs what may take a while; `resume` is the stored session that the app opened with."""
        self._owner = owner
        self._parts = parts
        self._resume = resume

    async def take(self, events: Sequence[Event]) -> None:
        """Takes events that arrived together, in order."""
        parts, turn = self._parts, self._parts.state.turn
        for event in events:
            if isinstance(event, Loading):
                parts.state.session.progress = event.progress
            elif isinstance(event, Loaded):
                await self._loaded(event)
            elif isinstance(event, Started):
                parts.turns.started(event.line)
            elif isinstance(event, Notice):
                await parts.view.notice(event.text)
        rounds = [event for event in events if isinstance(event, Round)]
        last = events[-1]
        if turn is None:
            if isinstance(last, WorkerFailed):
                await parts.loader.failed(last)
            parts.view.show_header()
            return
        if rounds:
            await parts.turns.take(turn, rounds)
        else:
            parts.view.show_header()
        if isinstance(last, Ended | WorkerFailed):
            await self._ended(turn, last)

    async def _loaded(self, event: Loaded) -> None:
        parts, state = self._parts, self._parts.state
        first_time = state.settings is None
        if await parts.loader.loaded(event):
            parts.conversations.pair_changed()
        parts.conversations.pair_loaded(first_time=first_time)
        parts.view.download_bar.show_unfinished()
        if state.turn is None:
            parts.view.show_figures(TurnView.before(event.memory))
        resumed, self._resume = self._resume, None
        if resumed == state.session.conversation.id and state.turn is None and state.waiting is None:
            self._owner.run_worker(parts.conversations.restore_prompt_cache(), group="prompt cache")
        await parts.turns.send_waiting()

    async def _ended(self, turn: RunningTurn, last: Ended | WorkerFailed) -> None:
        parts = self._parts
        session, settings = parts.state.session, parts.state.settings
        await parts.turns.finish(turn, last)
        parts.view.load_knobs.tell_machine(session.machine)
        if isinstance(last, Ended) and last.reason != "cancelled":
            if settings is not None:
                self._owner.run_worker(parts.advisor.look_back(session, settings, turn, last), group="advice")
            parts.tour.answered(turn.answer.figures)
