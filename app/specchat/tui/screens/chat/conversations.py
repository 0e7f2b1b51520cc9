"""From one conversation to another: new, stored, copied, each with its prompt cache.

The engine's prompt cache of a session is saved on disk when the session is left, so going on reads nothing again. The
files are in the cache folder: the engine can make all of them again by reading the conversation.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from specchat.chat.conversation import Conversation
from specchat.chat.session import new_conversation
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import Event, Kept
from specchat.errors import SpecchatError
from specchat.models.labels import recorded_target
from specchat.traces.trace import Trace
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat_engine.errors import EngineError

MIN_TOKENS = 256
"""Shorter sessions are not saved: the engine reads them as fast as it restores them."""

MAX_BYTES = 512 * 2**20
"""Of one session."""

MAX_SESSIONS = 6
"""The sessions that were left last are kept."""

_TIMEOUT = 10.0


class PromptCaches:
    """One folder for each session."""

    def __init__(self, client: EngineClient, folder: Path) -> None:
        self._client = client
        self._folder = folder

    async def save(self, session: int, num_tokens: int) -> None:
        """Saves the cache of a session of this many tokens, if that is worth it. Call it only between two answers."""
        if num_tokens < MIN_TOKENS:
            return
        event = await self._last(self._client.keep(self._path(session), limit=MAX_BYTES))
        if isinstance(event, Kept) and event.ok:
            await asyncio.to_thread(self._remove_old)

    async def restore(self, session: int) -> None:
        """Restores the cache of a session if there is one."""
        folder = self._path(session)
        if folder.is_dir():
            await self._last(self._client.recall(folder))

    async def _last(self, events: Iterator[Event]) -> Event | None:
        """The last event of a blocking call; None after a timeout."""
        with suppress(TimeoutError):
            received = await asyncio.wait_for(asyncio.to_thread(list, events), _TIMEOUT)
            return received[-1] if received else None
        return None

    def _path(self, session: int) -> Path:
        return self._folder / f"{session:016x}"

    def _remove_old(self) -> None:
        with suppress(OSError):
            folders = [path for path in self._folder.iterdir() if path.is_dir()]
            for old in sorted(folders, key=_modified)[:-MAX_SESSIONS]:
                shutil.rmtree(old, ignore_errors=True)


def _modified(folder: Path) -> float:
    return folder.stat().st_mtime


class Conversations:
    """Opens conversations, and leaves them."""

    def __init__(self, state: ChatState, view: ChatView, turns: TurnRunner, caches: PromptCaches) -> None:
        self._state = state
        self._view = view
        self._turns = turns
        self._caches = caches
        self.on_enter: Callable[[], None] = lambda: None
        """Called when another conversation is shown."""
        self.resumed: int | None = None
        """The conversation that the app was started with, until the models are loaded."""

    async def new(self) -> None:
        """Starts an empty conversation."""
        await self.begin(new_conversation(self._state.session.options))

    async def begin(self, conversation: Conversation) -> None:
        """Goes on with an empty conversation, the same pair and settings. A running answer is stopped and stored."""
        await self.leave()
        self._enter(conversation)

    async def open(self, session: int) -> None:
        """Opens a stored conversation, to go on where it stopped."""
        if session == self._state.session.conversation.id:
            return
        await self.leave()
        if await self._show_stored(session):
            await self._caches.restore(session)
            self.use_stored_settings()

    async def enter(self, conversation: Conversation) -> None:
        """Goes on with a conversation that is in memory."""
        await self.leave()
        self._enter(conversation, await self._last_trace(conversation))
        await self._caches.restore(conversation.id)
        self.use_stored_settings()

    async def resume(self, session: int) -> None:
        """Shows the stored conversation that the app was started with; the models are loaded later."""
        if await self._show_stored(session):
            self.resumed = session

    async def fork(self) -> None:
        """Copies the conversation into a session of its own."""
        if self._view.is_busy():
            return
        if self._state.session.conversation.empty:
            self._view.note("there is nothing to copy yet")
            return
        conversation = self._state.session.conversation
        copy, last = conversation.copy(), await self._last_trace(conversation)
        self._enter(copy, last)
        for message in copy.path():
            self._state.archive.said(copy, message)
        self._view.note("a copy of the session: the first one stays as it is")

    async def leave(self) -> None:
        """Stops a running answer, else saves the prompt cache of the conversation, which is left now."""
        if self._state.turn is not None or self._state.calling:
            self._turns.leave()
        else:
            await self.save_prompt_cache()

    async def save_prompt_cache(self) -> None:
        """Saves what the engine has read of the conversation, unless an answer is running."""
        session = self._state.session
        if not self._state.busy and session.loaded is not None:
            await self._caches.save(session.conversation.id, session.used)

    async def restore_prompt_cache(self) -> None:
        """Restores what the engine had read of the conversation."""
        await self._caches.restore(self._state.session.conversation.id)

    def pair_changed(self) -> None:
        """Stores that the conversation continues with another pair."""
        self._state.archive.changed(self._state.session.name_pair())

    async def _show_stored(self, session: int) -> bool:
        try:
            conversation = await self._state.stored(session)
        except SpecchatError as error:
            self._view.note(str(error))
            return False
        trace = await self._last_trace(conversation)
        self._turns.leave()
        self._enter(conversation, trace)
        return True

    async def _last_trace(self, conversation: Conversation) -> Trace | None:
        return await self._state.archive.sound_trace(conversation.last("assistant"))

    def _enter(self, conversation: Conversation, last: Trace | None = None) -> None:
        """Shows a conversation, with the figures and the context of the `last` answer if its trace is known."""
        view = self._view
        view.give_back()
        if count := self._state.outbox.clear():
            view.note(f"{count} queued message{'' if count == 1 else 's'} not sent: ↑ recalls what was written")
        self._state.commands_allowed = False
        view.show_outbox()
        self._turns.stop_editing()
        self._state.enter(conversation)
        if last is not None:
            self._state.session.answered_by = recorded_target(last.start)
        view.show_conversation()
        self._turns.recall(last)
        self.on_enter()

    def use_stored_settings(self) -> None:
        """Applies the settings of the session, as far as the loaded pair supports them."""
        try:
            settings = self._state.stored_settings()
        except EngineError as error:
            self._view.note(str(error))
            return
        if settings is not None:
            self._turns.change_settings(settings, remember=False)
