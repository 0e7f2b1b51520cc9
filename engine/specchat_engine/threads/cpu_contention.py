"""Fewer threads while other programs keep the cores busy.

The threads of a pass wait for each other some hundred times. If the core of one is busy with something else for four
milliseconds, all others wait: beside one busy program, two threads on two cores took four times as long as
alone, beside two of them up to forty times. One thread took as long as ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

Passes = Sequence[tuple[int, float, float]]
"""Passes of the target in order: the tokens and the milliseconds of each, and the milliseconds of the draft before it.
"""

_CREEP = 0.002
"""The undisturbed time of a pass is the shortest seen. It rises by this share of the excess of each longer pass."""

_KEPT, _FEW = 16, 8
"""The latest 16 passes count, and there have to be 8 before contention is suspected."""

_SLOW, _SLOW_PASSES, _SLOW_TOTAL = 2.0, 3, 1.6
"""Fewer threads are tried if three of these took twice their undisturbed time, and all together 1.6 times."""

_STARVED, _BATCHES, _STARVED_BATCHES = 0.75, 4, 3
"""They are also tried if the threads computed for less than 0.75 of the time in three of the last four batches of
passes. That needs no undisturbed pass to compare with."""

_TRIAL_PASSES, _MOST_LOST = 12, 2.0
"""A trial ends after 12 passes, or as soon as it has lost the time of two passes without it."""

_SLOPE = 0.35
"""What a further token costs, roughly, in passes over one token."""

_FEWER_BELOW, _MORE_BELOW = 0.87, 0.97
"""Fewer threads stay if they take less than 0.87 of the time, and more threads if they take less than 0.97."""

_FIRST_WAIT, _WAIT_GROWS, _LONGEST_WAIT = 2.0, 3.0, 60.0
"""Seconds until a failed trial is repeated: 2 at first, three times as long after each failure, 60 at most."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """The milliseconds of a pass, and those of undisturbed ones: with the same threads, and with all of them."""

    took: float
    undisturbed: float
    with_all: float


def ladder(threads: int) -> tuple[int, ...]:
    """The numbers of threads to try in turn: all, one less, half of them, one."""
    return tuple(sorted({threads, max(1, threads - 1), max(1, threads // 2), 1}, reverse=True))


class CpuContention:
    """Decides from the times of passes how many threads to use.

    Every change is tried first: fewer threads stay only if they are clearly faster, and more are tried again and again.
    Sums are compared, since the few passes that wait very long matter most.
    """

    def __init__(self, threads: int) -> None:
        """`threads` are used while nothing else keeps the cores busy."""
        self.threads = threads
        self._counts = ladder(threads)
        self._settled = self._tried = 0
        self._next_below = 1
        self._shortest: dict[int, dict[int, float]] = {count: {} for count in self._counts}
        self._recent: deque[_Pass] = deque(maxlen=_KEPT)
        self._trial: list[_Pass] = []
        self._starved: deque[bool] = deque(maxlen=_BATCHES)
        self._computed = 0.0
        self._fewer, self._more = _Wait(), _Wait()

    @property
    def count(self) -> int:
        """The threads to use now, during trials too."""
        return self._counts[self._tried]

    @property
    def settled(self) -> int:
        """The threads to use outside of trials."""
        return self._counts[self._settled]

    def passed(self, passes: Passes, now: float, computed: float, drafting: int = 1) -> None:
        """Takes note of some passes that were made with `count` threads, at `now` seconds of a clock.

        `computed` is the processor time of the whole process since it began, in seconds. Drafts were made with
        `drafting` threads.
        """
        computed_ms, self._computed = 1e3 * (computed - self._computed), computed
        count, trying = self.count, self._tried != self._settled
        seen = self._trial if trying else self._recent
        wanted_ms = sum(count * took + drafting * drafted for _, took, drafted in passes)
        for width, took, _ in passes[-_KEPT:]:
            if took > 0:
                undisturbed = self._undisturbed(width, took)
                seen.append(_Pass(took, undisturbed, undisturbed if count == self.threads else self._with_all(width)))
        self._starved.append(computed_ms < _STARVED * wanted_ms)
        if not seen:
            return
        if trying:
            self._judge(now)
        elif self._settled and self._more.is_over(now):
            self._try(self._settled - 1)
        elif self._settled + 1 < len(self._counts) and self._fewer.is_over(now) and self._is_suspected:
            self._try(max(self._next_below, self._settled + 1))

    @property
    def _is_suspected(self) -> bool:
        """Whether the latest passes look as if threads waited for each other."""
        return sum(self._starved) >= _STARVED_BATCHES or _disturbed(self._recent)

    def _undisturbed(self, width: int, took: float) -> float:
        """The undisturbed time of a pass with the current threads, after one more pass."""
        shortest = self._shortest[self.count]
        known = shortest.get(width, took)
        shortest[width] = known = min(took, known + _CREEP * (min(took, 2 * known) - known))
        return known

    def _with_all(self, width: int) -> float:
        """The undisturbed time of a pass with all threads, from the nearest width that was seen with these."""
        known = self._shortest[self.threads]
        nearest = min(known, key=lambda other: abs(other - width))
        return known[nearest] * (1 + _SLOPE * (width - 1)) / (1 + _SLOPE * (nearest - 1))

    def _try(self, index: int) -> None:
        self._tried, self._trial = index, []
        self._starved.clear()

    def _judge(self, now: float) -> None:
        """Ends a trial once it has shown enough."""
        usual, tried, more = _level(self._recent), self._trial, self._tried < self._settled
        took, with_all = sum(each.took for each in tried), sum(each.with_all for each in tried)
        clearly_slower = took > usual * with_all * (1 + _MOST_LOST / len(tried))
        if len(tried) < _TRIAL_PASSES and not clearly_slower:
            return
        if not clearly_slower and took < (_MORE_BELOW if more else _FEWER_BELOW) * usual * with_all:
            self._settled, self._next_below = self._tried, self._tried + 1
            self._fewer, self._more = _Wait(), _Wait(now + _FIRST_WAIT)
            self._recent.clear()
        elif more:
            self._more.fail(now)
        elif self._tried + 1 < len(self._counts):
            self._next_below = self._tried + 1
        else:
            self._next_below = self._settled + 1
            self._fewer.fail(now)
        self._tried = self._settled
        self._starved.clear()


@dataclass(slots=True)
class _Wait:
    """When a trial may be made again, and how long to wait after the next failure."""

    until: float = 0.0
    seconds: float = _FIRST_WAIT

    def is_over(self, now: float) -> bool:
        return now >= self.until

    def fail(self, now: float) -> None:
        self.until, self.seconds = now + self.seconds, min(_LONGEST_WAIT, _WAIT_GROWS * self.seconds)


def _disturbed(passes: Collection[_Pass]) -> bool:
    """Whether enough of these passes took far longer than undisturbed ones."""
    if len(passes) < _FEW or sum(each.took > _SLOW * each.undisturbed for each in passes) < _SLOW_PASSES:
        return False
    return sum(each.took for each in passes) > _SLOW_TOTAL * sum(each.undisturbed for each in passes)


def _level(passes: Collection[_Pass]) -> float:
    """How long these passes took, relative to undisturbed ones with all threads."""
    return sum(each.took for each in passes) / sum(each.with_all for each in passes)
