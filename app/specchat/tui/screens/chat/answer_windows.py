"""The windows about answers: inspected, played back, raced, verified, summed up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from textual.widget import Widget

from specchat.chat.answer_view import explained_round, view_of
from specchat.chat.controller import STILL_LOADING
from specchat.chat.server_limits import COMPARISON, INSPECTION, learns_nothing
from specchat.chat.session import Question
from specchat.engine_process.engine_client import EngineClient
from specchat.errors import SpecchatError, TraceError
from specchat.manual.sections import SectionAddress
from specchat.models.labels import recorded_pair
from specchat.stats.charts import Line, wrapped
from specchat.stats.figures.figure import Figure
from specchat.stats.turn import TurnView
from specchat.traces.trace import Trace, read_trace
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.screens.explain import ExplainScreen, figures_screen
from specchat.tui.screens.inspector import InspectorScreen
from specchat.tui.screens.race import RaceScreen
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.screens.statistics import StatisticsScreen
from specchat.tui.screens.statistics_pages import pages
from specchat.tui.screens.verify import TextComparison, VerifyScreen, describe_gap, not_comparable
from specchat.tui.side_answer import (
    SideAnswer,
    answered,
    asked_in,
    looker,
    question_of,
    speculative,
    stored_of,
)
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.trace_lines import settings_in
from specchat_engine.settings import Settings

_NOT_KEPT = "how this answer was made was not kept"


class AnswerWindows:
    """Finds the traces of answers and opens the windows over the chat."""

    def __init__(
        self,
        owner: Widget,
        state: ChatState,
        view: ChatView,
        client: EngineClient,
        turns: TurnRunner,
        read: Callable[[SectionAddress], None],
    ) -> None:
        """`owner` is a widget of the app over which the windows open; `read` opens a section of the documentation."""
        self._owner = owner
        self._state = state
        self._view = view
        self._client = client
        self._turns = turns
        self._read = read

    async def inspect_in_view(self) -> None:
        """Opens the inspector on the answer that the user looks at."""
        answer = self._view.answer_in_view()
        if answer is None:
            self._view.note("there is no answer yet")
        elif self._state.is_running(answer):
            self._view.note("an answer that is written can be looked at when it is over")
        else:
            await self.inspect(answer)

    async def inspect(self, answer: int, round_index: int | None = None, token_index: int = 0) -> None:
        """Opens the inspector on an answer, at this round, or at the last one with a rejected token."""
        settings = self._state.settings
        if self._view.needs_local(INSPECTION):
            return
        trace = await self._trace(answer)
        if trace is None or settings is None:
            return
        if trace.is_remote:
            self._view.note("a server gave this answer: it showed no probabilities")
            return
        indices = [event.index for event in trace.rounds]
        at = indices.index(round_index) if round_index in indices else _notable_round(trace)

        def branch(prefix: tuple[int, ...] | None) -> None:
            if prefix is not None:
                self._turns.answer_again(answer, prefix)

        look = looker(self._client, asked_in(trace), trace, settings)
        self._owner.app.push_screen(InspectorScreen(trace, at, token_index, look, self._read), branch)

    async def explain(self, figure: Figure | None = None, answer: int | None = None) -> None:
        """Explains the figures of an answer: of this one, else of the one that is written, else of the last one."""
        state, memory = self._state, self._state.session.loaded.memory if self._state.session.loaded else None
        view = TurnView(memory=memory)
        last = state.last_answer
        if state.turn is not None and (answer is None or state.is_running(answer)):
            view = state.turn.view()
        elif answer is not None or last is not None:
            trace = await self._trace(answer if answer is not None else last.id if last else None)
            view = view_of(trace, memory) if trace is not None else view
        self.show_explanations(view, figure)

    def show_explanations(self, view: TurnView, figure: Figure | None = None) -> None:
        """Explains figures, beginning with this one."""
        self._owner.app.push_screen(figures_screen(view, self._read, figure))

    async def explain_token(self, answer: int, round_index: int, token_index: int) -> None:
        """Explains a token of an answer, and the others of its round."""
        trace = await self._trace(answer)
        if trace is not None:
            indices = [event.index for event in trace.rounds]
            at = indices.index(round_index) if round_index in indices else _notable_round(trace)
            explanations = explained_round(trace, at, {})
            title = f"Round {at + 1} of {len(trace.rounds)}"
            self._owner.app.push_screen(ExplainScreen(explanations, token_index, self._read, title=title))

    async def replay(self, answer: int | None) -> None:
        """Plays an answer back."""
        trace = await self._trace(answer)
        if trace is not None:
            self._owner.app.push_screen(ReplayScreen([trace]))

    async def replay_file(self, path: Path) -> None:
        """Plays the turns of a trace file back."""
        self._view.note(f"reading {path.name}", passing=True)
        try:
            traces = await asyncio.to_thread(read_trace, path)
        except TraceError as error:
            self._view.note(str(error))
            return
        self._view.end_passing()
        self._owner.app.push_screen(ReplayScreen(traces, source=path.name))

    async def race(self) -> None:
        """Answers the last prompt again, plainly and with speculation, side by side."""
        comparison = await self._to_compare()
        if comparison is None:
            return
        question, settings, trace = comparison
        loaded = self._state.session.loaded
        drafters = loaded.drafters if loaded else ()
        runners = (
            SideAnswer(self._client, question, settings.plain),
            SideAnswer(self._client, question, speculative(settings, drafters)),
        )
        self._owner.app.push_screen(RaceScreen(*runners, trace.question))

    async def verify(self) -> None:
        """Compares the last answer with plain decoding."""
        comparison = await self._to_compare()
        if comparison is None:
            return
        question, settings, trace = comparison
        if why := not_comparable(trace):
            self._view.note(why)
            return
        same = replace(settings_in(trace.start, settings).plain, max_tokens=len(trace.tokens))
        look = looker(self._client, question.messages, trace, settings)

        async def explain(difference: TextComparison) -> str:
            ours, theirs = difference.tokens
            if difference.place is None or ours is None or theirs is None:
                return ""
            seen = await look(difference.place, (ours, theirs))
            weights = (trace.start.get("target") or {}).get("quantisation", "")
            return describe_gap(seen, difference, question.seed, question.turn, question.attempt, weights)

        self._owner.app.push_screen(VerifyScreen(trace, SideAnswer(self._client, question, same), explain))

    async def statistics(self, page: str = "Turn") -> None:
        """Opens the statistics at this tab; before the models are loaded, those of a stored answer."""
        session = self._state.session
        loaded, conversation = session.loaded, session.conversation.id
        answer = self._view.answer_in_view()
        trace = None if answer is None or self._state.is_running(answer) else await self._trace(answer)
        if loaded is None and trace is None:
            self._view.note(STILL_LOADING, passing=True)
            return
        pair = loaded.pair_name if loaded else recorded_pair(trace.start) if trace else ""
        try:
            stored = await self._state.archive.do(lambda store: stored_of(store, conversation, pair))
        except SpecchatError as error:
            self._view.note(str(error))
            return
        turn = None
        if trace is not None:
            settings = settings_in(trace.start, session.settings or Settings())
            drafters = loaded.drafters if loaded else (settings.drafter,)
            turn = answered(trace, settings, drafters, session.k_max)
        self._owner.app.push_screen(StatisticsScreen(pages(turn, stored, pair) | {"Learning": self._learned}, page))

    def _learned(self, width: int) -> list[Line]:
        """The page about what the draft model has learned."""
        if server := self._state.session.server:
            return wrapped(learns_nothing(server), width)
        from specchat.learning import Learning, learned_page  # numpy, which it needs, is loaded after the first frame

        options = self._state.session.options
        return learned_page(Learning(), options.target, options.draft, width)

    async def _to_compare(self) -> tuple[Question, Settings, Trace] | None:
        """The last answer's question, the settings in force, and its trace; None, with a note, if there is none."""
        loaded, settings = self._state.session.loaded, self._state.settings
        if self._view.is_busy() or self._view.needs_local(COMPARISON):
            return None
        if loaded is None or settings is None:
            self._view.note(STILL_LOADING, passing=True)
            return None
        if loaded.plain_because:
            self._view.note(f"speculation is not possible: {loaded.plain_because}")
            return None
        answer = self._state.last_answer
        trace = await self._trace(answer.id if answer else None)
        if answer is None or trace is None:
            return None
        return question_of(trace, answer.attempt), settings, trace

    async def _trace(self, answer: int | None) -> Trace | None:
        """The trace of a finished answer; None, with a note, if there is none."""
        if answer is None:
            self._view.note("there is no answer yet")
            return None
        if self._state.is_running(answer):
            self._view.note("this answer is still being written")
            return None
        try:
            trace = await self._state.archive.trace(answer)
        except SpecchatError as error:
            self._view.note(str(error))
            return None
        if trace is None or not trace.rounds:
            self._view.note(_NOT_KEPT)
            return None
        return trace


def _notable_round(trace: Trace) -> int:
    """The index of the last round in which a drafted token was rejected, else of the last one."""
    rejected = [index for index, event in enumerate(trace.rounds) if event.token.kind is TokenKind.CORRECTION]
    return rejected[-1] if rejected else len(trace.rounds) - 1
