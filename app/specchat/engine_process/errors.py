"""The errors between a server and its engine.

ServeError
├── Busy           as many requests wait as may
├── RequestFailed  one request failed; `theirs` says that the request is to blame
├── EngineDied     the engine's process ended; the next request starts another one
└── LoadFailed     the models cannot be loaded
"""

from __future__ import annotations

from specchat.errors import SpecchatError


class ServeError(SpecchatError):
    """The base of these errors."""


class Busy(ServeError):
    """As many requests wait as may: come back after some seconds."""

    def __init__(self, message: str, retry_after_seconds: int = 1) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class RequestFailed(ServeError):
    """A request that could not be answered. `too_long` says that the context cannot hold its prompt."""

    def __init__(self, message: str, *, theirs: bool = False, too_long: bool = False) -> None:
        super().__init__(message)
        self.theirs = theirs
        self.too_long = too_long


class EngineDied(ServeError):
    """The engine's process ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LoadFailed(ServeError):
    """The models cannot be loaded."""
