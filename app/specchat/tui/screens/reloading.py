"""Another pair, or the same one loaded in another way: the conversation stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from specchat.chat.commands.invocations import Role
from specchat.chat.session import Phase
from specchat.errors import SpecchatError
from specchat.settings.options import ChatOptions
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.widgets.download_bar import DownloadBar
from specchat.worker.protocol import Ended, Loaded, WorkerFailed
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import DRAFTERS, Settings

if TYPE_CHECKING:
    from specchat.tui.play import Play
    from specchat.tui.timing_drafts import DraftTimer
    from specchat.tui.widgets.load_knobs import LoadKnobs

_CALM = 0.3
"""Seconds without another change before memory is estimated."""


class ReloadingScreen(BranchingScreen):
    """Loads models while the chat is open. What cannot be loaded leaves the pair that was there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "load_arrived", "Load or resume a download", show=False, id="chat.load_arrived"),
    ]
    _left: tuple[ChatOptions, Settings | None] | None = None
    _load_knobs: LoadKnobs | None = None
    """Mounted when they are wanted for the first time."""

    @property
    def options(self) -> ChatOptions:
        """The pair that is loaded, or being loaded, and how."""
        return self._session.options

    async def browse_models(self, role: Role | None = None, part: str = "here", chosen: str = "") -> None:
        """The model browser at one of its parts, `chosen` among the recommended; a draft is chosen in the picker."""
        from specchat.tui.screens.model_windows import show_drafts, show_models

        if role == "draft":
            show_drafts(self)
        else:
            show_models(self, role, part, chosen)

    async def action_models(self) -> None:
        """The model browser."""
        await self.browse_models()

    async def action_load_arrived(self) -> None:
        """Loads what was downloaded last, or goes on with a download that was interrupted."""
        bar = self.query_one(DownloadBar)
        arrived = bar.take()
        if arrived is not None:
            await self.load_pair(arrived.target, arrived.draft)
            return
        try:
            resumed = bar.resume()
        except SpecchatError as error:
            self._note(str(error))
            return
        self._note("the download goes on" if resumed else "no download waits to be loaded: F8 finds models")

    async def load_pair(self, target: Path | None, draft: Path | None = None) -> None:
        """Another target, with the draft that it had last where none is given; without a target another draft."""
        if target is not None and draft is None:
            draft = await asyncio.to_thread(_last_draft, target)
        await self.reload(replace(self._session.options, target=target or self._session.options.target, draft=draft))

    async def load_target(self, name: str) -> None:
        """Another target, by its path or its name in the library, with the draft that it had last."""
        path = await self._path_of(name)
        if path is not None:
            await self.load_pair(path)

    async def load_draft(self, name: str | None) -> None:
        """Another draft model for this target, or none."""
        path = None if name is None else await self._path_of(name)
        if name is None or path is not None:
            await self.reload(replace(self._session.options, draft=path))

    async def load_again(self, changed: Callable[[LoadOptions], LoadOptions]) -> None:
        """The same models with other options."""
        options = self._session.options
        await self.reload(replace(options, options=changed(options.options)))

    async def show_load_knobs(self) -> None:
        """Puts the panel of how the pair is loaded below the knobs, unless it is there."""
        from specchat.tui.widgets.load_knobs import LoadKnobs

        if self._load_knobs is None:
            self._load_knobs = LoadKnobs(self._session.options)
            await self.query_one("#turned").mount(self._load_knobs)
            self._load_knobs.tell_machine(self._session.machine)

    async def on_load_knobs_load(self, message: LoadKnobs.Load) -> None:
        """Loads the pair again in the way that was considered."""
        await self.load_again(lambda _: message.options)

    def on_load_knobs_live(self, message: LoadKnobs.Live) -> None:
        """Other threads, at once."""
        self._use_threads(message.options)

    async def on_load_knobs_choose(self, message: LoadKnobs.Choose) -> None:
        """Lets a target or a draft be chosen."""
        await self.browse_models(message.role)

    def on_load_knobs_refused(self, message: LoadKnobs.Refused) -> None:
        """Says why a value cannot be."""
        self._note(message.reason)

    def on_load_knobs_changed(self, message: LoadKnobs.Changed) -> None:
        """Tells what memory it would take, as soon as that is known."""
        self.run_worker(self._estimate(message.options), group="estimate", exclusive=True)

    async def _estimate(self, wanted: LoadOptions) -> None:
        from specchat.tui.estimating import memory_words

        await asyncio.sleep(_CALM)
        loaded = self._session.options
        words = await asyncio.to_thread(memory_words, loaded, wanted)
        if loaded == self._session.options and self._load_knobs is not None:
            self._load_knobs.tell(words)

    def _use_threads(self, options: LoadOptions) -> None:
        """Computes with the threads of these options from the next pass on, also of a running answer."""
        from specchat.chat.knobs import with_threads

        session = self._session
        if session.loaded is None:
            self._note("the model is still loading")
        else:
            session.options = replace(session.options, options=with_threads(session.options.options, options))
            self._link.use_threads(session.options.options)
        if self._load_knobs is not None:
            self._load_knobs.take_threads(session.options.options)

    async def reload(self, options: ChatOptions) -> None:
        """Loads what these options say in place of what is loaded; other threads alone need no load."""
        from specchat.chat.knobs import with_threads

        session = self._session
        threads = with_threads(session.options.options, options.options)
        if options == replace(session.options, options=threads) != session.options:
            self._use_threads(threads)
            return
        if self._busy() or options == session.options:
            return
        if self._waiting is not None or session.phase is Phase.LOADING:
            self._note("the model is still loading")
            return
        self._left = (session.options, session.settings) if session.loaded is not None else None
        if options.target != session.options.target:
            session.settings = None
            session.conversation.change(settings=None)
        elif options.draft is not None and session.options.draft is None and session.settings is not None:
            session.settings = replace(session.settings, drafter=DRAFTERS[0])  # who takes a draft model wants it used
        session.options, session.loaded = options, None
        self._load()

    def draft_timer(self, target: Path) -> DraftTimer:
        """Times drafts for a target on the engine of the chat."""
        from specchat.tui.timing_drafts import DraftTimer

        return DraftTimer(self._client, target, self.options.options, lambda: self._play is not None)

    def load_back(self) -> None:
        """Loads the pair of the chat again, in whose place drafts were timed."""
        if self._play is None and self._session.phase is not Phase.LOADING:
            self._load()

    async def _finish(self, play: Play, last: Ended | WorkerFailed) -> None:
        await super()._finish(play, last)
        if self._load_knobs is not None:
            self._load_knobs.tell_machine(self._session.machine)

    async def _loaded(self, event: Loaded) -> None:
        reloaded, self._left = self._left is not None, None
        await super()._loaded(event)
        options = self._session.options
        if self._load_knobs is not None:
            self._load_knobs.fit(options)
        self.query_one(DownloadBar).recall()
        if reloaded:
            if options.draft is not None and event.draft is not None:
                self.run_worker(asyncio.to_thread(_remember, options.target, options.draft), group="remember")
            self._archive.changed(self._session.conversation.change(**self._models()))

    async def _load_failed(self, event: WorkerFailed) -> None:
        if self._left is None:
            await super()._load_failed(event)
            return
        await self._notice(f"{event.message}\nThe pair that was there is loaded again.", failure=True)
        (self._session.options, self._session.settings), self._left = self._left, None
        self._load()

    async def _path_of(self, name: str) -> Path | None:
        """A model's file; None, and said why, where there is none of that name."""
        from specchat.models.finding import find_path

        try:
            path = await asyncio.to_thread(find_path, name)
        except SpecchatError as error:
            known = self._library.path_of(name)  # the built-in pair is in no library
            if known is None:
                await self._notice(str(error), failure=True)
                return None
            path = known
        return path.expanduser().absolute()


def _last_draft(target: Path) -> Path | None:
    from specchat.models.last_pairs import last_draft

    return last_draft(target)


def _remember(target: Path, draft: Path) -> None:
    from specchat.models.preferences import remember_pair

    remember_pair(target, draft)
