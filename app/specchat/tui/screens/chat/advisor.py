"""Remarks on finished answers: advice that a key takes, or a notice that this pair was better before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from textual.screen import Screen

from specchat.chat.session import ChatSession
from specchat.chat.turn import RunningTurn
from specchat.engine_process.protocol import Ended
from specchat.errors import SpecchatError
from specchat.stats.advice import Advice, AdviceHistory, AlphaRecord, Answered, advise, fallen_alpha
from specchat.stats.causes import causes
from specchat.store.store import Store
from specchat.store.turns import RECORD_TURNS
from specchat.tui.keymap import written_key
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.side_answer import answered
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat_engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Review:
    """Advice on an answer, a notice, or neither; and what the advisor remembers."""

    memory: AdviceHistory
    advice: Advice | None = None
    notice: str | None = None


def earlier_turns(store: Store, pair: str, message: int) -> Sequence[tuple[int, int]]:
    """The compared and the accepted tokens of each of a pair's last turns, without the turn of this message."""
    turns = [turn.counters for turn in store.turns(pair, limit=RECORD_TURNS + 1) if turn.message != message]
    return [(counted.num_tested_tokens, counted.num_accepted_tokens) for counted in turns[:RECORD_TURNS]]


def review(turn: Answered, before: Sequence[tuple[int, int]], memory: AdviceHistory | None) -> Review:
    """The review of an answer. There is a notice only if there is no advice, since advice says more."""
    advice, memory = advise(causes(turn), memory or AdviceHistory())
    if advice is not None:
        return Review(memory, advice)
    figures = turn.view.figures
    return Review(
        memory, None, fallen_alpha(figures.num_tested_tokens, figures.num_accepted_tokens, AlphaRecord.of(before))
    )


class Advisor:
    """Looks back at each answer when it is over, without holding up the chat."""

    def __init__(self, screen: Screen[None], state: ChatState, view: ChatView, turns: TurnRunner) -> None:
        self._screen = screen
        self._state = state
        self._view = view
        self._turns = turns

    def take(self) -> None:
        """Follows the last advice. A command is written into the prompt, where Enter gives it."""
        advice, settings = self._state.session.advice, self._state.settings
        if advice is None or settings is None or not (advice.remedy or advice.command):
            self._view.note("there is no advice to take")
        elif advice.remedy is None:
            self._view.prompt.give_back(advice.command)
        elif (changed := advice.remedy(settings)) == settings:
            self._view.note("it is set so already")
        else:
            self._turns.change_settings(changed)
            self._view.note("taken: in force from the next round on")

    async def look_back(
        self, session: ChatSession, settings: Settings, turn: RunningTurn[TranscriptAnswer], last: Ended
    ) -> None:
        """Adds a remark below an answer if there is something to say; `settings` are those at its end."""
        trace, loaded = turn.trace(last), session.loaded
        if trace is None or loaded is None:
            return
        pair = loaded.pair_name
        try:
            before = await self._state.archive.do(lambda store: earlier_turns(store, pair, turn.message.id))
        except SpecchatError:
            before = ()
        answer = answered(trace, settings, loaded.drafters, session.k_max, len(before))
        result = await asyncio.to_thread(review, answer, before, session.advisor)
        session.advisor = result.memory
        if result.advice is not None:
            session.advice = result.advice
            turn.answer.remark(self._line(result.advice))
        elif result.notice is not None:
            turn.answer.remark(f"{result.notice} · /why")

    def _line(self, advice: Advice) -> str:
        parts = [advice.sentence]
        if advice.remedy is not None:
            parts.append(f"{self._key()} takes it")
        elif advice.command:
            parts.append(f"{self._key()} writes {advice.command}")
        return " · ".join([*parts, "/why"])

    def _key(self) -> str:
        """The key that takes advice, as it is shown."""
        keys = [key for key, active in self._screen.active_bindings.items() if active.binding.id == "chat.take_advice"]
        return written_key(keys[0]) if keys else "a key"
