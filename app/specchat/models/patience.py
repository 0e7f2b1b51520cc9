"""How long to go on where a server is busy or a connection breaks."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of waiting, in seconds; `attempts` failures in a row that brought nothing new are the end.

    A failure after at least `progress` new bytes is forgiven. A server that asks for more than `longest_asked` is not
    waited for.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 30.0
    longest_asked: float = 120.0
    silence: float = 30.0
    progress: int = 2**20

    def wait_after(self, failures: int) -> float:
        """How long to wait after so many failures in a row: twice as long each time."""
        return float(min(self.longest_wait, self.first_wait * 2 ** (failures - 1)))


WAITED_FOR = Patience(attempts=3, silence=10.0)
"""While someone looks at the screen: a hub that does not answer is told within seconds."""


class Stopped(Exception):
    """The user cancelled; what has arrived is kept."""


class Paused(Exception):
    """The user paused: the connection was let go, and is made again after `wait_until_running`."""


class Control:
    """Pauses, resumes and cancels a download from another thread."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()
        self._cancelled = threading.Event()

    @property
    def paused(self) -> bool:
        """Whether it is to wait."""
        return not self._running.is_set()

    @property
    def cancelled(self) -> bool:
        """Whether it is to end."""
        return self._cancelled.is_set()

    def pause(self) -> None:
        """Ends the connections; what has arrived is kept."""
        self._running.clear()

    def resume(self) -> None:
        """Goes on where it was."""
        self._running.set()

    def cancel(self) -> None:
        """Ends it for good, also out of a pause."""
        self._cancelled.set()
        self._running.set()

    def wait_until_running(self) -> None:
        """Returns at once, or after the pause. Raises Stopped."""
        self._running.wait()
        self.check()

    def sleep(self, seconds: float) -> None:
        """Waits, but not beyond a cancel. Raises Stopped."""
        self._cancelled.wait(seconds)
        self.check()

    def check(self) -> None:
        """Raises Stopped where it was cancelled."""
        if self.cancelled:
            raise Stopped

    def check_running(self) -> None:
        """Raises Stopped where it was cancelled, Paused where it is to wait."""
        self.check()
        if self.paused:
            raise Paused
