"""Another pair, or the same one loaded in another way: the conversation stays."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from specchat.errors import SpecchatError
from specchat.options import ChatOptions
from specchat.tui.screens.branching import BranchingScreen
from specchat.worker.protocol import Loaded, WorkerFailed


class ReloadingScreen(BranchingScreen):
    """Loads models while the chat is open. What cannot be loaded leaves the pair that was there."""

    _left: ChatOptions | None = None

    async def load_target(self, name: str) -> None:
        """Another target, by its path or its name in the library, without a draft model."""
        path = await self._path_of(name)
        if path is not None:
            await self.reload(replace(self._session.options, target=path, draft=None))

    async def load_draft(self, name: str | None) -> None:
        """Another draft model for this target, or none."""
        path = None if name is None else await self._path_of(name)
        if name is None or path is not None:
            await self.reload(replace(self._session.options, draft=path))

    async def reload(self, options: ChatOptions) -> None:
        """Loads what these options say in place of what is loaded."""
        session = self._session
        if self._busy() or options == session.options:
            return
        if self._waiting is not None or session.loaded is None:
            self._note("the model is still loading")
            return
        if options.target != session.options.target:
            session.settings = None
        self._left, session.options, session.loaded = session.options, options, None
        self._load()

    async def _loaded(self, event: Loaded) -> None:
        reloaded, self._left = self._left is not None, None
        await super()._loaded(event)
        if reloaded:
            options = self._session.options
            self._archive.changed(
                self._session.conversation.change(target=str(options.target), draft=str(options.draft or "") or None)
            )

    async def _load_failed(self, event: WorkerFailed) -> None:
        if self._left is None:
            await super()._load_failed(event)
            return
        await self._notice(f"{event.message}\nThe pair that was there is loaded again.", failure=True)
        self._session.options, self._left = self._left, None
        self._load()

    async def _path_of(self, name: str) -> Path | None:
        """A model's file; None, and said why, where there is none of that name."""
        from specchat.models.library import find_path

        try:
            path = await asyncio.to_thread(find_path, name)
        except SpecchatError as error:
            await self._notice(str(error), failure=True)
            return None
        return path.expanduser().absolute()
