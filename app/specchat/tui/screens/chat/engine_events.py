"""What becomes of the engine's events in the chat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specchat.chat.turn import RunningTurn
from specchat.engine_process.protocol import (
    Ended,
    Event,
    Loaded,
    Loading,
    Notice,
    Recounted,
    Started,
    Summarised,
    TaskFailed,
)
from specchat.stats.turn import TurnView
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat_engine.decoding.rounds import PromptProgress, Round

if TYPE_CHECKING:
    from specchat.tui.screens.chat.screen import ChatScreen


async def take_events(screen: ChatScreen, events: Sequence[Event]) -> None:
    """Takes events of a load or of an answer that arrived together, in order."""
    turn = screen.state.turn
    for event in events:
        if isinstance(event, Loading):
            screen.state.session.progress = event.progress
        elif isinstance(event, Loaded):
            await _loaded(screen, event)
        elif isinstance(event, Started):
            screen.turns.started(event.line)
        elif isinstance(event, Notice):
            screen.view.notice(event.text)
        elif isinstance(event, PromptProgress):
            screen.turns.reading(event)
        elif isinstance(event, Summarised):
            screen.turns.summarised(event)
    rounds = [event for event in events if isinstance(event, Round)]
    last = events[-1]
    if turn is None:
        if isinstance(last, TaskFailed):
            screen.loader.failed(last)
            screen.queue.hold()
        screen.view.show_header()
        return
    if rounds:
        screen.turns.take(turn, rounds)
    else:
        screen.view.show_header()
    for event in events:
        if isinstance(event, Recounted):
            screen.turns.recount(turn, event.rounds)
    if isinstance(last, Ended | TaskFailed):
        _ended(screen, turn, last)


async def _loaded(screen: ChatScreen, event: Loaded) -> None:
    state = screen.state
    screen.view.end_passing()
    first_time = state.settings is None
    if await screen.loader.loaded(event):
        screen.conversations.pair_changed()
    if first_time:
        screen.conversations.use_stored_settings()
    screen.view.download_bar.show_unfinished()
    if state.turn is None:
        if not first_time:
            screen.view.show_figures(TurnView())
        screen.view.show_memory(event.memory)
    resumed, screen.conversations.resumed = screen.conversations.resumed, None
    if resumed == state.session.conversation.id and state.turn is None and state.waiting is None:
        screen.run_worker(screen.conversations.restore_prompt_cache(), group="prompt cache")
    screen.turns.send_waiting()


def _ended(screen: ChatScreen, turn: RunningTurn[TranscriptAnswer], last: Ended | TaskFailed) -> None:
    session, settings = screen.state.session, screen.state.settings
    screen.turns.finish(turn, last)
    if isinstance(last, Ended) and last.calls:
        screen.turns.call(last.calls)
    elif isinstance(last, Ended) and last.reason != "cancelled":
        screen.panels.offer_docs(turn.answer, turn.message.id, last.text)
        if settings is not None and session.server is None:
            screen.run_worker(screen.advisor.look_back(session, settings, turn, last), group="advice")
        screen.tour.answered(turn.answer)
        screen.queue.answered()
    else:
        screen.queue.hold()
