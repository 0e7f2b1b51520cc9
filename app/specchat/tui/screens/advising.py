"""What a look back at a finished answer tells: advice with a key that takes it, or that this pair was better before."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from specchat.chat.session import ChatSession
from specchat.errors import SpecchatError
from specchat.models.formatting import pair_name
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat.worker.protocol import Ended, WorkerFailed
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.stats.advice import Advice
    from specchat.tui.play import Play


class AdvisingScreen(BranchingScreen):
    """Looks back at each answer when it is over, beside whatever the user does then."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+t", "take_advice", "Take the advice", show=False, id="chat.take_advice")
    ]

    def action_take_advice(self) -> None:
        """Does what the advisor said last; a command is written into the prompt, to be looked at before Enter."""
        advice, settings = self._session.advice, self._session.settings
        if advice is None or settings is None or not (advice.remedy or advice.command):
            self._note("there is no advice to take")
        elif advice.remedy is None:
            self.query_one(Prompt).give_back(advice.command)
        elif (turned := advice.remedy(settings)) == settings:
            self._note("it is set so already")
        else:
            self.query_one(Knobs).show(turned)
            self._apply(turned)
            self._note("taken: in force from the next round on")

    async def _finish(self, play: Play, last: Ended | WorkerFailed) -> None:
        session, settings = self._session, self._session.settings
        await super()._finish(play, last)
        if isinstance(last, Ended) and last.reason != "cancelled":
            self.run_worker(self._look_back(session, settings, play, last), group="looking back")

    async def _look_back(self, session: ChatSession, settings: Settings | None, play: Play, last: Ended) -> None:
        from specchat.tui.advising import earlier_turns, look_back

        trace, loaded = play.trace(last), session.loaded
        if trace is None or loaded is None or settings is None:
            return
        pair = pair_name(loaded.target, loaded.draft)
        try:
            before = await self._archive.do(lambda store: earlier_turns(store, pair, play.message.id))
        except SpecchatError:
            before = ()
        found = await asyncio.to_thread(
            look_back, trace, last.costs, settings, loaded.drafters, session.k_max, before, session.advisor
        )
        session.advisor = found.memory
        if found.advice is not None:
            session.advice = found.advice
            play.answer.remark(self._told(found.advice))
        elif found.notice is not None:
            play.answer.remark(f"{found.notice} · /why")

    def _told(self, advice: Advice) -> str:
        """The advice in one line, with what takes it."""
        parts = [advice.sentence]
        if advice.remedy is not None:
            parts.append(f"{self._key('chat.take_advice')} takes it")
        elif advice.command:
            parts.append(f"{self._key('chat.take_advice')} writes {advice.command}")
        return " · ".join([*parts, "/why"])

    def _key(self, binding: str) -> str:
        """The key that a binding has now, as it is written: Ctrl+T."""
        from specchat.tui.screens.help import written_key

        keys = [key for key, active in self.active_bindings.items() if active.binding.id == binding]
        return written_key(keys[0]) if keys else "a key"
