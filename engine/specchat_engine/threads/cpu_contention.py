"""Fewer threads while other programs crowd the processors.

The threads of a pass wait for each other some hundred times, so that one whose processor computes something else for
four milliseconds keeps all others waiting: beside one busy program two threads on two cores took four times as long as
alone, beside two of them up to forty times, where one thread took no longer than ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

Passes = Sequence[tuple[int, float, float]]
"""Passes of the target in their order: the tokens and the milliseconds of each, and those of the draft before it."""

_CREEPS = 0.002
"""The undisturbed time of a pass is the least that was seen, which creeps up by that share of what others took more."""

_SEEN, _FEW = 16, 8
"""So many of the latest passes count, and so many have to be seen before anything is suspected."""

_SLOW, _SLOW_PASSES, _SLOW_ALL = 2.0, 3, 1.6
"""Fewer threads are tried where so many of them took twice their undisturbed time, and all together 1.6 times."""

_STARVED, _BATCHES, _STARVED_BATCHES = 0.75, 4, 3
"""They are also tried where the threads computed for less than that share of the time in three of the last four batches
of passes: that needs no undisturbed pass to compare with."""

_TRIED, _HOPELESS = 12, 2.0
"""A trial is over after so many passes, or when it has taken twice the time that these would have taken without it."""

_SLOPE = 0.35
"""What a further token costs, roughly, in units of a pass over one."""

_FEWER_AT, _MORE_AT = 0.87, 0.97
"""Other threads stay where they take less than that share of the time: fewer ones, and more ones."""

_Pass = tuple[float, float, float]
"""What a pass took, and undisturbed ones of its width: with the threads of then, and with all of them."""

_SOON, _LATER, _LATEST = 2.0, 3.0, 60.0
"""Seconds until a trial that failed is made again, at first and at most; each failure makes it three times as long."""


def ladder(threads: int) -> tuple[int, ...]:
    """The thread counts to go down by: one processor less, half of them, a single one."""
    return tuple(sorted({threads, max(1, threads - 1), max(1, threads // 2), 1}, reverse=True))


class Crowding:
    """Says how many of some threads to use, told what the passes take.

    It compares sums, since it is the few passes that wait long which count, and it tries what it decides: fewer threads
    stay only where they are clearly faster, and more are tried again and again.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        """As many as there are while nothing crowds the processors."""
        self._counts = ladder(threads)
        self._place = self._tried = 0
        self._least: dict[int, dict[int, float]] = {count: {} for count in self._counts}
        self._recent: deque[_Pass] = deque(maxlen=_SEEN)
        self._trial: list[_Pass] = []
        self._starved: deque[bool] = deque(maxlen=_BATCHES)
        self._computed = 0.0
        self._below = 1
        self._fewer, self._more = _Patience(), _Patience()

    @property
    def count(self) -> int:
        """The threads to use now, be it for a trial."""
        return self._counts[self._tried]

    @property
    def settled(self) -> int:
        """The threads to use apart from trials."""
        return self._counts[self._place]

    def passed(self, passes: Passes, now: float, computed: float, drafting: int = 1) -> None:
        """Hears of a few passes that were made with `count` threads, at `now` seconds of a clock.

        The whole process has `computed` for so many seconds, on whatever processors, since it began. Drafts were made
        with `drafting` threads.
        """
        computed_ms, self._computed = 1e3 * (computed - self._computed), computed
        seen = self._recent if self._tried == self._place else self._trial
        count = self.count
        wanted_ms = sum([count * took + drafting * drafted for _, took, drafted in passes])
        for width, took, _ in passes[-_SEEN:]:
            if took > 0:
                own = self._learn(width, took)
                seen.append((took, own, own if count == self.threads else self._whole(width)))
        self._starved.append(computed_ms < _STARVED * wanted_ms)
        if not seen:
            return
        if self._tried != self._place:
            self._weigh(now)
        elif self._place and self._more.is_over(now):
            self._try(self._place - 1)
        elif self._place + 1 < len(self._counts) and self._fewer.is_over(now) and self._is_crowded:
            self._try(max(self._below, self._place + 1))

    @property
    def _is_crowded(self) -> bool:
        """Whether the latest passes look as if threads waited for each other."""
        return sum(self._starved) >= _STARVED_BATCHES or _disturbed(self._recent)

    def _whole(self, width: int) -> float:
        """The undisturbed time of a pass with all threads, told by the nearest width that these have made."""
        known = self._least[self.threads]
        if width in known:
            return known[width]
        nearest = min(known, key=lambda other: abs(other - width))
        return known[nearest] * (1 + _SLOPE * (width - 1)) / (1 + _SLOPE * (nearest - 1))

    def _learn(self, width: int, took: float) -> float:
        """The undisturbed time of a pass with the threads of now, which one more pass tells."""
        own = self._least[self.count]
        least = own.get(width, took)
        own[width] = least = min(took, least + _CREEPS * (min(took, 2 * least) - least))
        return least

    def _try(self, place: int) -> None:
        self._tried, self._trial = place, []
        self._starved.clear()

    def _weigh(self, now: float) -> None:
        """Ends a trial that has told enough."""
        usual, tried = _level(self._recent), self._trial
        took, whole = sum([took for took, _, _ in tried]), sum([whole for _, _, whole in tried])
        hopeless = took > _HOPELESS * usual * whole / len(tried) * _TRIED
        if len(tried) < _TRIED and not hopeless:
            return
        more = self._tried < self._place
        if not hopeless and took < (_MORE_AT if more else _FEWER_AT) * usual * whole:
            self._place, self._below = self._tried, self._tried + 1
            self._fewer, self._more = _Patience(), _Patience(now + _SOON)
            self._recent.clear()
        elif more:
            self._more.fail(now)
        elif self._tried + 1 < len(self._counts):
            self._below = self._tried + 1
        else:
            self._below = self._place + 1
            self._fewer.fail(now)
        self._tried = self._place
        self._starved.clear()


@dataclass(slots=True)
class _Patience:
    """When a trial may be made again, and how long one waits after the next failure."""

    until: float = 0.0
    wait: float = _SOON

    def is_over(self, now: float) -> bool:
        return now >= self.until

    def fail(self, now: float) -> None:
        self.until, self.wait = now + self.wait, min(_LATEST, _LATER * self.wait)


def _disturbed(passes: Collection[_Pass]) -> bool:
    """Whether enough of these passes took far longer than undisturbed ones."""
    slow = sum([took > _SLOW * own for took, own, _ in passes])
    if slow < _SLOW_PASSES or len(passes) < _FEW:
        return False
    return sum([took for took, _, _ in passes]) > _SLOW_ALL * sum([own for _, own, _ in passes])


def _level(passes: Collection[_Pass]) -> float:
    """How long these passes took, in units of undisturbed ones with all threads."""
    return sum([took for took, _, _ in passes]) / sum([whole for _, _, whole in passes])
