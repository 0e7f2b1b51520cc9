"""Admits a few requests at a time, the others in the order in which they came."""

from __future__ import annotations

from asyncio import Semaphore
from collections import deque
from math import ceil
from time import monotonic

from specchat.engine_process.errors import Busy

_REMEMBERED = 16


class Place:
    """A place that a request has until it leaves it."""

    def __init__(self, admission: Admission) -> None:
        self._admission: Admission | None = admission
        self._since = monotonic()

    def leave(self) -> None:
        """Makes room for the next request; calling it again does nothing."""
        admission, self._admission = self._admission, None
        if admission:
            admission.left(monotonic() - self._since)


class Admission:
    """A number of places, and a queue for the requests that wait for one."""

    def __init__(self, places: int, waiting: int) -> None:
        self._places = places
        self._most_waiting = waiting
        self._free = Semaphore(places)
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)
        self.running = self.waiting = 0

    async def enter(self) -> Place:
        """Waits for a place. Raises Busy at once if as many as may wait wait already."""
        if self._free.locked() and self.waiting >= self._most_waiting:
            seconds = self.retry_after_seconds
            waiting = f"{self.waiting} request{' waits' if self.waiting == 1 else 's wait'} already"
            full = waiting if self.waiting else "all places are taken"
            raise Busy(f"{full}: try again in {seconds} s", seconds)
        self.waiting += 1
        try:
            await self._free.acquire()
        finally:
            self.waiting -= 1
        self.running += 1
        return Place(self)

    def left(self, seconds: float) -> None:
        """Frees the place of a request that had it for `seconds`."""
        self.running -= 1
        self._seconds.append(seconds)
        self._free.release()

    @property
    def retry_after_seconds(self) -> int:
        """In how many seconds one more request would probably get a place, judging by the last ones; 1 or more."""
        usual = sum(self._seconds) / len(self._seconds) if self._seconds else 0.0
        return max(1, ceil(usual * (self.waiting + 1) / self._places))
