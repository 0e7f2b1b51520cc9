"""How long a request keeps trying, and how another thread pauses or cancels it."""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits for retries; times are in seconds.

    `attempts` failures in a row end the request. A failure after at least `progress` new bytes starts a new row.
    `timeout` is how long a connection may be silent. A server that asks for a wait of more than
    `longest_retry_after` is not waited for.
    """

    attempts: int = 6
    first_wait: float = 1.0
    longest_wait: float = 30.0
    longest_retry_after: float = 120.0
    timeout: float = 30.0
    progress: int = 2**20

    def wait_after(self, failures: int) -> float:
        """The wait after this many failures in a row. It doubles each time."""
        return float(min(self.longest_wait, self.first_wait * 2 ** (failures - 1)))


INTERACTIVE = RetryPolicy(attempts=3, timeout=10.0)
"""For requests that a user waits for at the screen: a hub that does not answer is reported within seconds."""


class Stopped(Exception):
    """The user cancelled. What has arrived is kept."""


class Paused(Exception):
    """The user paused. The connection is closed; a new one may be opened after `Control.wait_until_running`."""


class Control:
    """Pauses, resumes and cancels a download from another thread."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()
        self._cancelled = threading.Event()

    @property
    def paused(self) -> bool:
        """True between `pause` and `resume`."""
        return not self._running.is_set()

    def pause(self) -> None:
        """Closes the connections. What has arrived is kept."""
        self._running.clear()

    def resume(self) -> None:
        """Continues after a pause."""
        self._running.set()

    def cancel(self) -> None:
        """Ends the download, even while it is paused."""
        self._cancelled.set()
        self._running.set()

    def wait_until_running(self) -> None:
        """Waits for the end of a pause. Raises Stopped."""
        self._running.wait()
        self.check()

    def sleep(self, seconds: float) -> None:
        """Waits, but no longer than until a cancel. Raises Stopped."""
        self._cancelled.wait(seconds)
        self.check()

    def check(self) -> None:
        """Raises Stopped after a cancel."""
        if self._cancelled.is_set():
            raise Stopped

    def check_running(self) -> None:
        """Raises Stopped after a cancel, and Paused during a pause."""
        self.check()
        if self.paused:
            raise Paused
