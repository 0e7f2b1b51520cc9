"""When the rounds and tokens of a recorded turn come, and the position of a replay at any speed."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from specchat.traces.trace import Trace


class Timeline:
    """A recorded turn over time. Times are in seconds since the turn began."""

    __slots__ = ("_decode_ms", "_times", "_tokens", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self._times = tuple(event.t_ms / 1000 for event in trace.rounds)
        self._tokens = tuple(accumulate((event.num_emitted for event in trace.rounds), initial=0))
        self._decode_ms = tuple(accumulate((event.ms.total for event in trace.rounds), initial=0.0))

    @property
    def duration(self) -> float:
        """The time of the last round."""
        return self._times[-1] if self._times else 0.0

    def due(self, seconds: float) -> int:
        """The number of rounds completed at that time."""
        return bisect_right(self._times, seconds)

    def at(self, rounds: int) -> float:
        """The time at which this many rounds were completed. Counts outside the turn give its start or end."""
        if rounds <= 0 or not self._times:
            return 0.0
        return self._times[min(rounds, len(self._times)) - 1]

    def tokens(self, seconds: float) -> int:
        """The number of tokens at that time."""
        return self._tokens[self.due(seconds)]

    def tokens_per_second(self, seconds: float) -> float | None:
        """Tokens / time of decoding up to that time; None before the end of the first round."""
        done = self.due(seconds)
        return self._tokens[done] / self._decode_ms[done] * 1000 if self._decode_ms[done] > 0 else None


@dataclass(frozen=True, slots=True)
class Playhead:
    """The position of a replay. `now` is any monotonic clock in seconds; speed 1 is the recorded speed.

    Each change gives a new playhead that continues from the old one's position at that moment.
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
        """The time until this position is reached; None if the playhead does not move."""
        if not self.playing:
            return None
        return max(seconds - self.position(now), 0.0) / self.speed

    def played(self, now: float) -> Self:
        """Continues from here, or from the beginning if it was at the end."""
        place = self.position(now)
        return self._moved(0.0 if place >= self.duration else place, now, playing=True)

    def paused(self, now: float) -> Self:
        """Pauses here."""
        return self._moved(self.position(now), now, playing=False)

    def sought(self, seconds: float, now: float) -> Self:
        """Moves to another position, and keeps playing or pausing."""
        return self._moved(min(max(seconds, 0.0), self.duration), now, playing=self.playing)

    def at_speed(self, speed: float, now: float) -> Self:
        """Continues at another speed above 0. Infinity goes to the end at once."""
        if not speed > 0:
            raise ValueError(f"the speed of the replay is {speed}: it must be above 0")
        return type(self)(self.duration, speed, self.playing, self.position(now), now)

    def _moved(self, place: float, now: float, *, playing: bool) -> Self:
        return type(self)(self.duration, self.speed, playing, place, now)
