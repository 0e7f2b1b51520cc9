"""What can go wrong with a request to the engine.

ServeError
├── Busy           too many requests wait already
├── RequestFailed  the engine could not answer it
├── EngineDied     the engine's process ended meanwhile
└── LoadFailed     the models cannot be loaded

Every message is one line.
"""

from __future__ import annotations

from specchat.errors import SpecchatError


class ServeError(SpecchatError):
    """The base of all errors of the engine's client."""


class Busy(ServeError):
    """As many requests wait as may wait; one may be made again after so many seconds, 1 or more."""

    def __init__(self, waiting: int, retry_after_seconds: int) -> None:
        super().__init__(f"{waiting} requests wait already: try again in {retry_after_seconds} s")
        self.retry_after_seconds = retry_after_seconds


class RequestFailed(ServeError):
    """A request that was not answered, or not to its end. `theirs` says that the request is to blame."""

    def __init__(self, message: str, *, theirs: bool = False) -> None:
        super().__init__(message)
        self.theirs = theirs


class EngineDied(ServeError):
    """The engine's process ended while it answered. The next request starts another one."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LoadFailed(ServeError):
    """The engine's process cannot be started, or the models cannot be loaded. The next request tries it again."""
