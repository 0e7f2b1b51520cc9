"""When the rounds of a recorded turn are due, at any speed: for whoever plays it back."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Self

from specchat.traces.trace import Trace


class Timeline:
    """The rounds of a trace on its own clock, in seconds since the turn began."""

    __slots__ = ("_times",)

    def __init__(self, trace: Trace) -> None:
        self._times = tuple(event.t_ms / 1000 for event in trace.rounds)

    @property
    def duration(self) -> float:
        """When the last round was done."""
        return self._times[-1] if self._times else 0.0

    def due(self, seconds: float) -> int:
        """How many rounds were done by then."""
        return bisect_right(self._times, seconds)

    def at(self, rounds: int) -> float:
        """When so many rounds were done; the counts outside the turn are its two ends."""
        if rounds <= 0 or not self._times:
            return 0.0
        return self._times[min(rounds, len(self._times)) - 1]


@dataclass(frozen=True, slots=True)
class Playhead:
    """Where a replay stands. `now` is any clock in seconds that does not go back; speed 1 is as it was recorded.

    Each change is a new playhead that goes on from where the old one stood at that moment.
    """

    duration: float
    speed: float = 1.0
    playing: bool = False
    place: float = 0.0
    since: float = 0.0

    def position(self, now: float) -> float:
        """Seconds on the recorded clock, from 0 to the duration."""
        if not self.playing or now <= self.since:
            return self.place
        return min(self.place + (now - self.since) * self.speed, self.duration)

    def wait(self, seconds: float, now: float) -> float | None:
        """How long it takes until this place is reached; None where the playhead does not move."""
        if not self.playing:
            return None
        return max(seconds - self.position(now), 0.0) / self.speed

    def played(self, now: float) -> Self:
        """It runs from here, or from the beginning where it stood at the end."""
        place = self.position(now)
        return self._moved(0.0 if place >= self.duration else place, now, playing=True)

    def paused(self, now: float) -> Self:
        """It stays here."""
        return self._moved(self.position(now), now, playing=False)

    def sought(self, seconds: float, now: float) -> Self:
        """It goes on from another place, or stays there where it was paused."""
        return self._moved(min(max(seconds, 0.0), self.duration), now, playing=self.playing)

    def at_speed(self, speed: float, now: float) -> Self:
        """It goes on at another speed, a factor above 0; infinity is at the end at once."""
        if not speed > 0:
            raise ValueError(f"a replay's speed is {speed}: it has to be above 0")
        return type(self)(self.duration, speed, self.playing, self.position(now), now)

    def _moved(self, place: float, now: float, *, playing: bool) -> Self:
        return type(self)(self.duration, self.speed, playing, place, now)
