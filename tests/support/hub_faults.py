"""The faults of the tests' hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Wrong(StrEnum):
    """One kind of fault. `Fault.amount` is the number that some of them need."""

    CUT = "cut"
    """Closes the connection after this many bytes of a body."""

    CORRUPT = "corrupt"
    """Changes the byte at this position of the file."""

    STATUS = "status"
    """Answers with this status instead of the file."""

    LIMIT = "limit"
    """Answers 429 with this number of seconds in Retry-After."""

    CHANGE = "change"
    """Sends other bytes of the same length with another ETag."""

    LONGER = "longer"
    """Announces this many bytes more than there are, and closes the connection after the last one."""

    SHORTER = "shorter"
    """Announces and sends this many bytes less than there are."""

    NO_RANGES = "no ranges"
    """Ignores ranges and sends the complete file."""

    OTHER_RANGE = "other range"
    """Answers with a range that starts this many bytes too late."""

    LOOP = "loop"
    """Redirects in circles."""

    STALL = "stall"
    """Sends this many bytes and then nothing until the server stops."""

    PORTAL = "portal"
    """Answers with a web page, like the log-in page of a wireless network."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault in the server of the files or, with `api`, in the API. It happens `times` times; None means always."""

    wrong: Wrong
    amount: int = 0
    times: int | None = None
    api: bool = False


class Faults:
    """The pending faults. Each request takes the first that applies to it."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self._left = list(faults)

    def take(self, *, api: bool) -> Fault | None:
        """The fault for one request, if any."""
        for place, fault in enumerate(self._left):
            if fault.api == api:
                if fault.times is not None:
                    left = replace(fault, times=fault.times - 1)
                    self._left[place : place + 1] = [left] if left.times else []
                return fault
        return None
