"""A chat that opens with a stored session, and leaves one behind where it ends without a farewell."""

from __future__ import annotations

from textual import on
from textual.events import Mount

from specchat.errors import SpecchatError
from specchat.tui.screens.branching import BranchingScreen
from specchat.worker.protocol import Loaded


class ResumingScreen(BranchingScreen):
    """Takes up the session `resume`, where there is one: shown at once, gone on with when the models are loaded."""

    resume: int | None = None

    @on(Mount)
    async def show_resumed(self) -> None:
        """Shows what was said."""
        if self.resume is None:
            return
        try:
            conversation = await self._archive.open(self.resume)
        except SpecchatError as error:
            conversation = None
            self._note(str(error))
        if conversation is not None:
            await self._enter(conversation)

    def keep_now(self) -> None:
        """Keeps the running answer as far as it came."""
        self._keep()

    async def _loaded(self, event: Loaded) -> None:
        session, self.resume = self.resume, None
        await super()._loaded(event)
        if session == self._session.conversation.id and self._play is None:
            self.run_worker(self._memories.recall(session), group="recall")
