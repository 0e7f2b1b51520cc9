"""What the models have read of a session, kept when it is left: going on with it reads nothing again.

It lies in the cache folder: all of it can be made again, by reading.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from specchat.chat.client import EngineClient
from specchat.worker.protocol import Event, Kept, Recalled

WORTH_KEEPING = 256
"""Tokens: fewer are read again as quickly as they are restored."""

LIMIT = 512 * 2**20
"""Bytes of one session."""

MOST = 6
"""So many sessions are kept, those that were left last."""

_PATIENCE = 10.0


class Memories:
    """The folders in which the engine keeps what it has read, one a session."""

    def __init__(self, client: EngineClient, folder: Path) -> None:
        self._client = client
        self._folder = folder

    async def keep(self, session: int, num_tokens: int) -> bool:
        """Keeps what the models have read of a session of so many tokens; False where that was not worth it or failed.

        Between two answers only.
        """
        if num_tokens < WORTH_KEEPING:
            return False
        kept = await self._last(self._client.keep(self._of(session), limit=LIMIT))
        if not (isinstance(kept, Kept) and kept.ok):
            return False
        await asyncio.to_thread(self._forget_old)
        return True

    async def recall(self, session: int) -> bool:
        """Goes back to what the models had read of a session; False where that is not there any more."""
        folder = self._of(session)
        if not folder.is_dir():
            return False
        recalled = await self._last(self._client.recall(folder))
        return isinstance(recalled, Recalled) and recalled.ok

    async def _last(self, events: Iterator[Event]) -> Event | None:
        """The last event of a call that blocks; None where it takes too long to be worth it."""
        with suppress(TimeoutError):
            found = await asyncio.wait_for(asyncio.to_thread(list, events), _PATIENCE)
            return found[-1] if found else None
        return None

    def _of(self, session: int) -> Path:
        return self._folder / f"{session:016x}"

    def _forget_old(self) -> None:
        """Removes all but the newest folders; one that cannot be removed stays."""
        with suppress(OSError):
            folders = sorted((path for path in self._folder.iterdir() if path.is_dir()), key=_age)
            for old in folders[:-MOST]:
                shutil.rmtree(old, ignore_errors=True)


def _age(folder: Path) -> float:
    return folder.stat().st_mtime
