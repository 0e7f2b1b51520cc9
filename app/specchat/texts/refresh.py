"""Brings the indexes of past chats up to date while the chat goes on, in a process of its own at low priority."""

from __future__ import annotations

import subprocess
from pathlib import Path
from time import monotonic

from specchat.background import start_quietly
from specchat.texts.collections import CHATS, Collections

EVERY_SECONDS = 600.0
"""So much time lies between two updates."""


class Refreshing:
    """Runs `specchat store update` for the collections that draw on past chats, one after the other."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._waiting: list[str] = []
        self._began = -EVERY_SECONDS

    def after_answer(self, target: Path) -> None:
        """Begins an update for this target if the last one began long ago, or goes on with it."""
        if self.is_busy:
            return
        if not self._waiting and monotonic() - self._began >= EVERY_SECONDS:
            self._began = monotonic()
            self._waiting = [
                collection.name
                for collection in Collections().all()
                if collection.is_on and CHATS in collection.sources
            ]
        if self._waiting:
            words = ["store", "update", self._waiting.pop(), "-m", str(target)]
            self._running = start_quietly(words)

    @property
    def is_busy(self) -> bool:
        """Whether an update is running."""
        return self._running is not None and self._running.poll() is None

    def stop(self) -> None:
        """Ends a running update; the index that there was stays."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None
