"""Loading: the pair that the app starts with, another one, or the same one with other options."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from specchat.chat.controller import STILL_LOADING
from specchat.chat.knobs import with_threads
from specchat.chat.library_names import LibraryNames
from specchat.chat.server_limits import LOADING as OPTIONS
from specchat.chat.session import Phase, load_notices
from specchat.engine_process.protocol import Loaded, TaskFailed
from specchat.errors import SpecchatError
from specchat.models.last_pairs import last_draft
from specchat.models.preferences import remember_pair
from specchat.settings.options import ChatOptions
from specchat.terminal.process import give_way
from specchat.tui.engine_link import EngineLink
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import AUTO, DRAFTERS, Settings

_ESTIMATE_DELAY = 0.3
"""Seconds without another change before memory is estimated."""


class ModelLoader:
    """Loads models while the chat stays open. After a failure it loads the pair that was there before."""

    def __init__(self, state: ChatState, view: ChatView, link: EngineLink, library: LibraryNames) -> None:
        self._state = state
        self._view = view
        self._link = link
        self._library = library
        self._before: tuple[ChatOptions, Settings | None] | None = None

    def load(self) -> None:
        """Loads the pair that the session names."""
        self._state.session.phase = Phase.LOADING
        self._state.session.progress = 0.0
        self._link.load(self._state.session.options)
        self._view.show_header()

    async def load_pair(self, target: Path | None, draft: Path | None = None) -> None:
        """Loads another target, with the draft that it had last if none is given; without a target, another draft."""
        if target is not None and draft is None:
            draft = await asyncio.to_thread(last_draft, target)
        options = self._state.session.options
        self.reload(replace(options, target=target or options.target, draft=draft))

    async def load_target(self, name: str) -> None:
        """Loads another target, by its path or its name in the library; a server has its own names."""
        if self._state.session.server is not None:
            self.reload(replace(self._state.session.options, target=Path(name)))
            return
        path = await self._find(name)
        if path is not None:
            await self.load_pair(path)

    async def load_draft(self, name: str | None) -> None:
        """Loads another draft model for this target; None for no draft model."""
        path = None if name is None else await self._find(name)
        if name is None or path is not None:
            self.reload(replace(self._state.session.options, draft=path))

    def load_again(self, changed: Callable[[LoadOptions], LoadOptions]) -> None:
        """Loads the same models with other options."""
        if self._view.needs_local(OPTIONS):
            return
        options = self._state.session.options
        self.reload(replace(options, load=changed(options.load)))

    def reload(self, options: ChatOptions) -> None:
        """Loads what these options name. Other thread counts alone take effect without loading."""
        session = self._state.session
        threads = with_threads(session.options.load, options.load)
        if options == replace(session.options, load=threads) != session.options:
            self.use_threads(threads)
            return
        if self._view.is_busy() or options == session.options:
            return
        if session.phase is Phase.LOADING:
            self._view.note(STILL_LOADING, passing=True)
            return
        self._before = (session.options, session.settings) if session.loaded is not None else None
        if options.target != session.options.target:
            own = replace(options.load, head=AUTO, mmproj=AUTO)  # a head and a projector belong to their target
            options = replace(options, load=own)
            session.settings = None
            session.conversation.change(settings=None)
        elif options.draft is not None and session.options.draft is None and session.settings is not None:
            # A user who picks a draft model wants it to draft.
            session.settings = replace(session.settings, drafter=DRAFTERS[0])
        session.options, session.loaded = options, None
        self.load()

    def load_back(self) -> None:
        """Loads the pair of the chat again after drafts were timed in its place."""
        if self._state.turn is None and self._state.session.phase is not Phase.LOADING:
            self.load()

    def use_threads(self, options: LoadOptions) -> None:
        """Uses the thread counts of these options from the next pass on, also in a running answer."""
        session = self._state.session
        if session.loaded is None:
            self._view.note(STILL_LOADING, passing=True)
        elif not self._view.needs_local(OPTIONS):
            session.options = replace(session.options, load=with_threads(session.options.load, options))
            self._link.client.use_threads(session.options.load)
        self._view.load_knobs.take_threads(session.options.load)

    async def estimate(self, wanted: LoadOptions) -> None:
        """Shows in the knobs how much memory the pair would take with these options."""
        # Reading model files needs modules that nothing else in the chat needs.
        from specchat.tui.memory_estimate import memory_words

        await asyncio.sleep(_ESTIMATE_DELAY)
        if self._state.session.server is not None:
            return
        loaded = self._state.session.options
        words = await asyncio.to_thread(memory_words, loaded, wanted)
        if loaded == self._state.session.options:
            self._view.load_knobs.show_memory(words)

    async def loaded(self, event: Loaded) -> bool:
        """Takes a pair that was loaded. Returns whether it replaced another one."""
        session, view = self._state.session, self._view
        replaced, self._before = self._before is not None, None
        first_time = session.loaded is None
        give_way()
        settings = session.ready(event)
        await view.knobs.fit(event.drafters, session.k_max, settings)
        view.load_knobs.fit(session.options)
        if event.server is not None:
            view.load_knobs.display = False
        if first_time:
            self._state.archive.tidy()
        for text, failure in load_notices(event, first_time=first_time):
            view.notice(text, failure=failure)
        if replaced and session.options.draft is not None and event.draft is not None:
            await asyncio.to_thread(remember_pair, session.options.target, session.options.draft)
        return replaced

    def failed(self, event: TaskFailed) -> None:
        """Reports why the models cannot be loaded, and loads those that were there before."""
        session = self._state.session
        if self._before is not None:
            self._view.notice(f"{event.message}\nThe pair that was there is loaded again.", failure=True)
            (session.options, session.settings), self._before = self._before, None
            self.load()
            return
        session.phase = Phase.FAILED
        self._view.notice(f"{event.message}\nA message tries to load the model again; Ctrl+Q quits.", failure=True)
        self._view.give_back()
        self._view.show_header()

    async def _find(self, name: str) -> Path | None:
        """A model's file; None, with a notice, if there is no model of that name."""
        from specchat.models.names import find_path

        try:
            path = await asyncio.to_thread(find_path, name)
        except SpecchatError as error:
            known = self._library.path_of(name)  # the built-in pair is in no library
            if known is None:
                self._view.notice(str(error), failure=True)
                return None
            path = known
        return path.expanduser().absolute()
