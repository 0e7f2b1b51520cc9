"""The engine's prompt cache of a session, saved on disk when the session is left: going on reads nothing again.

The files are in the cache folder: the engine can make all of them again by reading the conversation.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from specchat.chat.client import EngineClient
from specchat.worker.protocol import Event, Kept, Recalled

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

    async def save(self, session: int, num_tokens: int) -> bool:
        """Saves the cache of a session of this many tokens; False if that is not worth it or fails.

        Call it only between two answers.
        """
        if num_tokens < MIN_TOKENS:
            return False
        kept = await self._last(self._client.keep(self._path(session), limit=MAX_BYTES))
        if not (isinstance(kept, Kept) and kept.ok):
            return False
        await asyncio.to_thread(self._remove_old)
        return True

    async def restore(self, session: int) -> bool:
        """Restores the cache of a session; False if there is none."""
        folder = self._path(session)
        if not folder.is_dir():
            return False
        recalled = await self._last(self._client.recall(folder))
        return isinstance(recalled, Recalled) and recalled.ok

    async def _last(self, events: Iterator[Event]) -> Event | None:
        """The last event of a blocking call; None after a timeout."""
        with suppress(TimeoutError):
            found = await asyncio.wait_for(asyncio.to_thread(list, events), _TIMEOUT)
            return found[-1] if found else None
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
