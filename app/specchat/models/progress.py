"""How fast a download goes, and when it will be done."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic

_WINDOW = 6.0
"""Seconds that the rate is taken over: long enough to stand still, short enough to follow."""

_STEP = 0.1
_FIRST = 0.5


class Meter:
    """Watches a growing number of bytes."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def see(self, done: int) -> None:
        """So many bytes are there now; fewer than before mean a new start."""
        now = self._clock()
        if self._seen and done < self._seen[-1][1]:
            self._seen.clear()
        if len(self._seen) > 1 and now - self._seen[-2][0] < _STEP:
            self._seen.pop()
        self._seen.append((now, done))
        while now - self._seen[0][0] > _WINDOW and len(self._seen) > 2:
            self._seen.popleft()

    @property
    def rate(self) -> float | None:
        """Bytes a second over the last seconds; None at the very beginning."""
        if not self._seen:
            return None
        (begin, first), (_, last) = self._seen[0], self._seen[-1]
        seconds = self._clock() - begin
        return (last - first) / seconds if seconds >= _FIRST else None

    def left(self, remaining: int) -> float | None:
        """Seconds until so many more bytes are there; None where that cannot be told."""
        rate = self.rate
        return remaining / rate if rate else None
