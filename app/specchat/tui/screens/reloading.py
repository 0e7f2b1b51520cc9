"""Another pair, or the same one loaded in another way: the conversation stays."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.errors import SpecchatError
from specchat.options import ChatOptions
from specchat.tui.panes.roles import Role
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.widgets.download_bar import DownloadBar
from specchat.worker.protocol import Loaded, WorkerFailed


class ReloadingScreen(BranchingScreen):
    """Loads models while the chat is open. What cannot be loaded leaves the pair that was there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "load_arrived", "Load what was downloaded", show=False, id="chat.load_arrived"),
    ]
    _left: ChatOptions | None = None

    @property
    def options(self) -> ChatOptions:
        """The pair that is loaded, or being loaded, and how."""
        return self._session.options

    async def browse_models(self, role: Role | None = None, part: str = "here") -> None:
        """The model browser at one of its parts; the draft picker where a draft is to be chosen."""
        from specchat.tui.screens.model_windows import show_drafts, show_models

        if role == "draft":
            show_drafts(self)
        else:
            show_models(self, role, part)

    async def action_models(self) -> None:
        """The model browser."""
        await self.browse_models()

    async def action_load_arrived(self) -> None:
        """Loads what was downloaded last."""
        arrived = self.query_one(DownloadBar).take()
        if arrived is None:
            self._note("no download waits to be loaded: F8 finds models")
        else:
            await self.load_pair(arrived.target, arrived.draft)

    async def load_pair(self, target: Path | None, draft: Path | None) -> None:
        """A target with or without a draft; another draft for this target where none is given."""
        await self.reload(replace(self._session.options, target=target or self._session.options.target, draft=draft))

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
