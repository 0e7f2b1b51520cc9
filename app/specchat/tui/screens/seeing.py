"""Windows in which answers that were given are seen again: played back, raced, verified, summed up.

What a window is made of is imported when it is opened: the first screen waits for none of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.chat.session import Question
from specchat.errors import SpecchatError
from specchat.models.formatting import pair_name
from specchat.tui.screens.acting import key_of
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.transcript.actions import MessageActions
from specchat.tui.transcript.transcript import Transcript
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.traces.trace import Trace
    from specchat.tui.verifying import Compared


class SeeingScreen(BranchingScreen):
    """Finds the traces and opens the windows."""

    async def replay(self, path: Path | None = None) -> None:
        """Plays a file's turns back, or the answer in view."""
        from specchat.traces.reading import read_trace
        from specchat.tui.screens.replay import ReplayScreen

        if path is None:
            await self._replay_answer(key_of(self.query_one(Transcript).answer_in_view()))
            return
        try:
            traces = await asyncio.to_thread(read_trace, path)
        except (SpecchatError, OSError) as error:
            self._note(str(error))
            return
        self.app.push_screen(ReplayScreen(traces, source=path.name))

    async def on_message_actions_play(self, message: MessageActions.Play) -> None:
        """Plays an answer back."""
        await self._replay_answer(key_of(message.entry))

    async def race(self) -> None:
        """Lets plain and speculative decoding run against each other on the last prompt, with the settings in force."""
        from specchat.tui.recording import Recording, plain, speculative
        from specchat.tui.screens.race import RaceScreen

        found = await self._to_compare()
        if found is None:
            return
        question, settings, trace = found
        loaded = self._session.loaded
        drafters = loaded.drafters if loaded else ()
        runners = (
            Recording(self._client, question, plain(settings)),
            Recording(self._client, question, speculative(settings, drafters)),
        )
        self.app.push_screen(RaceScreen(*runners, trace.question))

    async def verify(self) -> None:
        """Compares the last answer with plain decoding."""
        from specchat.tui.looking import looker, sampling_of
        from specchat.tui.recording import Recording, plain
        from specchat.tui.screens.verify import VerifyScreen
        from specchat.tui.spots import output_tokens
        from specchat.tui.verifying import gap_told, not_comparable

        found = await self._to_compare()
        if found is None:
            return
        question, settings, trace = found
        if why := not_comparable(trace):
            self._note(why)
            return
        sampling = sampling_of(trace.start.get("params", {}), settings.sampling)
        same = replace(plain(settings), sampling=sampling, max_tokens=len(output_tokens(trace)))
        look = looker(self._client, question.messages, trace, settings)

        async def closer(difference: Compared) -> str:
            ours, theirs = difference.tokens
            if difference.place is None or ours is None or theirs is None:
                return ""
            seen = await look(difference.place, (ours, theirs))
            return gap_told(seen, difference, question.seed, question.turn, question.attempt)

        self.app.push_screen(VerifyScreen(trace, Recording(self._client, question, same), closer))

    async def statistics(self, page: str = "Turn") -> None:
        """Figures and charts; `page` is the tab to begin with."""
        from specchat.tui.dashboard.statistics_pages import pages
        from specchat.tui.screens.statistics import StatisticsScreen
        from specchat.tui.summing_up import answered_of, kept_of

        loaded, settings, session = self._session.loaded, self._session.settings, self._session.conversation.id
        if loaded is None or settings is None:
            self._note("the model is still loading")
            return
        pair = pair_name(loaded.target, loaded.draft)
        try:
            kept = await self._archive.do(lambda store: kept_of(store, session, pair))
        except SpecchatError as error:
            self._note(str(error))
            return
        answer = key_of(self.query_one(Transcript).answer_in_view())
        running = self._play is not None and self._play.message.id == answer
        trace = None if answer is None or running else await self._recorded(answer)
        turn = answered_of(trace, settings, loaded.drafters, self._session.k_max) if trace else None
        self.app.push_screen(StatisticsScreen(pages(turn, kept, pair), page))

    async def action_statistics(self) -> None:
        """Opens the statistics."""
        await self.statistics()

    async def action_race(self) -> None:
        """Lets them run."""
        await self.race()

    async def _replay_answer(self, answer: int | None) -> None:
        from specchat.tui.screens.replay import ReplayScreen

        trace = await self._recorded(answer)
        if trace is not None:
            self.app.push_screen(ReplayScreen([trace]))

    async def _recorded(self, answer: int | None) -> Trace | None:
        """The trace of an answer that is over; says why there is none."""
        if answer is None:
            self._note("there is no answer yet")
            return None
        if self._play is not None and self._play.message.id == answer:
            self._note("this answer is still being written")
            return None
        try:
            trace = await self._archive.trace(answer)
        except SpecchatError as error:
            self._note(str(error))
            return None
        if trace is None or not trace.rounds:
            self._note("how this answer was made was not kept")
            return None
        return trace

    async def _to_compare(self) -> tuple[Question, Settings, Trace] | None:
        """The last answer's question, the settings in force, and its trace; says why nothing can be compared."""
        from specchat.tui.recording import question_of

        loaded, settings = self._session.loaded, self._session.settings
        if self._busy():
            return None
        if loaded is None or settings is None:
            self._note("the model is still loading")
            return None
        if loaded.plain_because:
            self._note(f"speculation is refused: {loaded.plain_because}")
            return None
        answers = [message for message in self._session.conversation.path() if message.role == "assistant"]
        trace = await self._recorded(answers[-1].id if answers else None)
        return None if trace is None else (question_of(trace, answers[-1].attempt), settings, trace)
