"""Trains a draft model while nobody waits: a process of its own at low priority, which stands still during answers."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from specchat.background import start_quietly
from specchat.learning.learned import Learned

MINUTES = 3.0
"""The longest training."""

_BUSY = 0.7
"""A training does not begin while other programs want more than this share of the processors."""


class BackgroundTraining:
    """At most one training. It ends with this process."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a training has not ended yet."""
        return self._running is not None and self._running.poll() is None

    def begin(self, target: Path, learned: Learned) -> None:
        """Begins to train the draft in use, if nothing is running and the machine is idle and on mains power."""
        if self.is_running or not learned.is_due or is_busy() or not on_mains_power():
            return
        words = ["train", "online", "-m", str(target), "-d", str(learned.base), "--minutes", str(MINUTES)]
        self._running = start_quietly(words)

    def pause(self) -> None:
        """Stands still while an answer is given."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Goes on."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ends a training; what it learned so far is lost, what was adopted before stays."""
        if self._running is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)
            self._running.wait()
            self._running = None

    def _signal(self, number: signal.Signals) -> None:
        if self._running is not None and self.is_running:
            with suppress(ProcessLookupError):
                os.killpg(self._running.pid, number)


def is_busy() -> bool:
    """Whether other programs want most of the processors, by the load of the last minute."""
    try:
        return os.getloadavg()[0] > _BUSY * (os.cpu_count() or 1) + 1
    except OSError:
        return False


def on_mains_power(folder: Path = Path("/sys/class/power_supply")) -> bool:
    """Whether the machine does not run on a battery; True where the system does not say."""
    supplies = []
    for supply in folder.glob("*"):
        with suppress(OSError):
            supplies.append(((supply / "type").read_text().strip(), supply))
    for kind, supply in supplies:
        if kind == "Battery":
            with suppress(OSError):
                if (supply / "status").read_text().strip() == "Discharging":
                    return False
    return True
