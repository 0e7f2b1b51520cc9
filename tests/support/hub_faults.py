"""What the tests' hub can be told to do wrong, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Wrong(StrEnum):
    """One way to misbehave. Where a fault needs a number, it is `Fault.amount`."""

    CUT = "cut"
    """Closes the connection after so many bytes of a body."""

    CORRUPT = "corrupt"
    """Turns the byte at this place of the file into another one."""

    STATUS = "status"
    """Answers with this status instead of the file."""

    LIMIT = "limit"
    """Answers 429 and asks to come back in so many seconds."""

    CHANGE = "change"
    """Serves other bytes of the same length, under another etag."""

    LONGER = "longer"
    """Claims so many bytes more than there are, and closes in good order where they end."""

    SHORTER = "shorter"
    """Claims and serves so many bytes less than there are."""

    NO_RANGES = "no ranges"
    """Answers a request for a part with the whole file."""

    OTHER_RANGE = "other range"
    """Answers with a part that begins so many bytes too late."""

    LOOP = "loop"
    """Sends the client in circles."""

    STALL = "stall"
    """Sends so many bytes and then nothing, until the server stops."""

    PORTAL = "portal"
    """Answers with a web page, as the log-in page of a wireless network does."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in what serves the files, or in the API where `api`; `times` None is for ever."""

    wrong: Wrong
    amount: int = 0
    times: int | None = None
    api: bool = False


class Faults:
    """The faults that are still to come, one after the other: each request takes the first that concerns it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._left = list(faults)

    def take(self, *, api: bool) -> Fault | None:
        """The fault of one request."""
        for place, fault in enumerate(self._left):
            if fault.api == api:
                if fault.times is not None:
                    left = replace(fault, times=fault.times - 1)
                    self._left[place : place + 1] = [left] if left.times else []
                return fault
        return None
