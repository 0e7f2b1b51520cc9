"""Brings the indexes of past chats up to date while the chat goes on, in a process of its own at low priority."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

from specchat.texts.collections import CHATS, Collections

EVERY_SECONDS = 600.0
"""So much time lies between two updates."""

_NICENESS = 19


class Refreshing:
    """Runs `specchat store update` for the collections that draw on past chats, one after the other."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._waiting: list[str] = []
        self._began = -EVERY_SECONDS
        self._target = Path()

    def after_answer(self, target: Path) -> None:
        """Begins an update for this target if the last one began long ago, or goes on with it."""
        self._target = target
        if self.is_busy:
            return
        if not self._waiting and monotonic() - self._began >= EVERY_SECONDS:
            self._began = monotonic()
            self._waiting = [one.name for one in Collections().all() if one.is_on and CHATS in one.sources]
        if self._waiting:
            self._start(self._waiting.pop())

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

    def _start(self, name: str) -> None:
        command = [sys.executable, "-m", "specchat", "store", "update", name, "-m", str(self._target)]
        quiet = subprocess.DEVNULL
        self._running = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, self._running.pid, _NICENESS)
