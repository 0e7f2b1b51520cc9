"""What things cost on this machine: C(w), a target pass over w tokens, and drafts of n tokens.

Both are curves over a size, and `CostCurve` learns either from the rounds that are made.
"""

from __future__ import annotations

from bisect import bisect
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from specchat_engine.decoding.drafts import DrafterTraits, Prospect

_KEPT = 15
"""How many times are kept of each size: the latest ones."""

_TRUSTED = 8
"""A size with this many times is known well. Sizes with fewer lean on their neighbours."""

_GUESSED = 2
"""What is guessed of a size counts as this many times."""

_MOOD_TIMES = 5
"""The machine's current speed is judged by this many times."""

_SHALLOW = 1024
"""Contexts below this depth cost the same; deeper ones are told apart by powers of two."""

_TARGET_SLOPE = 0.35
"""What a further token in a target pass costs before it was measured, in passes over one token."""

_STEP, _READ = 0.1, 0.15
"""A draft step in plain target passes, and reading a token in draft steps, before they were measured."""


class CostCurve:
    """Milliseconds by size and by depth of the context, both in tokens.

    When a machine slows down, everything slows down. So times are kept relative to the machine's current speed, its
    mood, and an old time stays comparable. Noise only adds to a time, so of the kept times of a size the one counts
    that a third of them are shorter than.
    """

    def __init__(self, slope: float) -> None:
        """`slope` is what one more token costs, relative to size 1, until two sizes were measured."""
        self._slope = slope
        self._mood = 1.0
        self._moods: deque[float] = deque(maxlen=_MOOD_TIMES)
        self._mood_sizes: deque[tuple[int, int]] = deque(maxlen=_MOOD_TIMES)
        self._times: dict[int, dict[int, deque[float]]] = {}
        self._usual: dict[int, dict[int, float]] = {}
        self._curves: dict[int, dict[int, float]] = {}

    def observe(self, size: int, depth: int, milliseconds: float) -> None:
        """Learns that `size` tokens took so long at this depth of the context."""
        if milliseconds <= 0:
            return
        zone = _zone(depth)
        times = self._times.setdefault(zone, {}).setdefault(size, deque(maxlen=_KEPT))
        if len(times) >= _TRUSTED:
            self._moods.append(milliseconds / self._usual[zone][size])
            self._mood = _undisturbed(self._moods)
            self._mood_sizes.append((zone, size))
            if self._mood_sizes.count((zone, size)) == len(self._mood_sizes):
                return  # one size alone cannot tell a slower machine from a higher cost
        times.append(milliseconds / self._mood)
        self._usual.setdefault(zone, {})[size] = _undisturbed(times)
        self._curves.pop(zone, None)

    @property
    def total(self) -> int:
        """How many times are kept of all sizes together."""
        return sum(len(kept) for times in self._times.values() for kept in times.values())

    def seen(self, size: int) -> int:
        """How many times are kept of a size, at any depth."""
        return sum(len(times.get(size, ())) for times in self._times.values())

    def at(self, size: int, depth: int) -> float | None:
        """The expected milliseconds of a size of 1 or more; None before anything was measured."""
        known = self._known(depth) if self._usual else {}
        if size in known:
            return self._mood * known[size]
        curve = self.curve(depth, size)
        return curve[size] if curve else None

    def curve(self, depth: int, most: int) -> list[float] | None:
        """The expected milliseconds of sizes 0 to `most`; None before anything was measured.

        Straight lines join the measured sizes. After the largest the last slope goes on, but no steeper than usual: if
        more tokens cost more than that, trying them will tell.
        """
        if not self._usual:
            return None
        known = self._known(depth)
        sizes, costs = list(known), list(known.values())
        usual = self._slope * costs[0] / (1 + self._slope * (sizes[0] - 1))
        slope = min(usual, (costs[-1] - costs[-2]) / (sizes[-1] - sizes[-2])) if len(sizes) > 1 else usual
        if sizes[0] > 1:
            costs.insert(0, costs[0] - (sizes[0] - 1) * min(usual, 0.9 * costs[0] / sizes[0]))
            sizes.insert(0, 1)
        if most > sizes[-1]:
            costs.append(costs[-1] + slope * (most - sizes[-1]))
            sizes.append(most)
        line = np.interp(range(1, most + 1), sizes, np.maximum.accumulate(costs))
        return [0.0, *(self._mood * line).tolist()]

    def measured(self, depth: int) -> dict[int, float]:
        """The usual milliseconds of the measured sizes, ascending, at this depth or the nearest one measured."""
        usual = self._usual[self._nearest(depth)] if self._usual else {}
        return {size: self._mood * usual[size] for size in sorted(usual)}

    def _known(self, depth: int) -> dict[int, float]:
        """The costs of the measured sizes, ascending, relative to the mood.

        One slow pass must not rule a size out for ever, as a size that looks dear is not tried again. So for a size
        with few times, the line between its neighbours counts as well. Not for size 1, after which there often is a
        step.
        """
        zone = self._nearest(depth)
        if zone in self._curves:
            return self._curves[zone]
        usual = dict(sorted(self._usual[zone].items()))
        known = dict(usual)
        for size, cost in usual.items():
            count = len(self._times[zone][size])
            if size > 1 and count < _TRUSTED and len(usual) > 1:
                guess = _on_line(size, [other for other in usual if other != size], usual)
                known[size] = (count * cost + _GUESSED * guess) / (count + _GUESSED)
        self._curves[zone] = known
        return known

    def _nearest(self, depth: int) -> int:
        return min(self._usual, key=lambda zone: abs(zone - _zone(depth)))

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: by depth and size the milliseconds, and how many times say so."""
        return {
            str(zone): {
                str(size): [round(self._mood * cost, 6), len(self._times[zone][size])] for size, cost in usual.items()
            }
            for zone, usual in self._usual.items()
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], slope: float) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        curve = cls(slope)
        for zone, costs in kept.items():
            for size, (milliseconds, count) in costs.items():
                if not (int(size) > 0 and int(count) > 0 and 0 < float(milliseconds) < float("inf")):
                    raise ValueError(f"{count} passes over {size} tokens that took {milliseconds} ms each")
                times = deque([float(milliseconds)] * min(int(count), _TRUSTED), _KEPT)
                curve._times.setdefault(int(zone), {})[int(size)] = times
                curve._usual.setdefault(int(zone), {})[int(size)] = float(milliseconds)
        return curve


class CostsByThreads:
    """A curve for each number of threads; `now` is the one of the threads in force.

    What was learned before the number of threads was known belongs to the first number that becomes known.
    """

    def __init__(self, slope: float = _TARGET_SLOPE) -> None:
        self._slope = slope
        self._threads = 0
        self._curves = {0: CostCurve(slope)}

    @property
    def now(self) -> CostCurve:
        """The curve of the threads in force."""
        return self._curves[self._threads]

    def of(self, threads: int) -> CostCurve:
        """The curve of a number of threads."""
        return self._curves.setdefault(threads, CostCurve(self._slope))

    def use(self, threads: int) -> None:
        """This many threads are in force from now on."""
        if threads != self._threads:
            unknown = self._curves.pop(0, None)
            self._curves.setdefault(threads, unknown or CostCurve(self._slope))
            self._threads = threads

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: curves by number of threads."""
        return {str(threads): curve.to_json() for threads, curve in self._curves.items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], slope: float = _TARGET_SLOPE) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        costs = cls(slope)
        for threads, curve in kept.items():
            costs._curves[int(threads)] = CostCurve.from_json(curve, slope)
        return costs


class DraftCosts:
    """What the drafts of one drafter take, by their length, and what it takes to read a token first."""

    def __init__(self) -> None:
        self.by_threads = CostsByThreads(slope=1.0)
        self._read_ms: float | None = None

    def expected(self, drafter: DrafterTraits, depth: int, most: int, plain_ms: float) -> list[float]:
        """The milliseconds of drafts of 0 to `most` tokens. The usual counts as well until some drafts were timed."""
        if drafter.cost == "nothing":
            return [0.0] * (most + 1)
        curve = self.by_threads.now
        step_ms = _STEP * plain_ms
        usual = [step_ms * (n if drafter.cost == "step" else min(n, 1)) for n in range(most + 1)]
        measured = curve.curve(depth, most)
        timed = curve.total
        if measured is None or timed >= _TRUSTED:
            return measured or usual
        return [(timed * a + _GUESSED * b) / (timed + _GUESSED) for a, b in zip(measured, usual, strict=True)]

    def reading_ms(self, drafter: DrafterTraits, prospect: Prospect, plain_ms: float) -> float:
        """What reading takes before the draft: the last token is read with its first step."""
        if drafter.cost == "nothing":
            return 0.0
        each = _READ * _STEP * plain_ms if self._read_ms is None else self._read_ms
        return max(0, prospect.unread - 1) * each

    def learn_reading(self, tokens: int, milliseconds: float) -> None:
        """Learns what reading so many tokens apart from drafts took."""
        if tokens > 0:
            self._read_ms = max(0.0, milliseconds) / tokens

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return self.by_threads.to_json()

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        costs = cls()
        costs.by_threads = CostsByThreads.from_json(kept, slope=1.0)
        return costs


def _undisturbed(times: Iterable[float]) -> float:
    ordered = sorted(times)
    return ordered[(len(ordered) - 1) // 3]


def _on_line(size: int, sizes: Sequence[int], costs: Mapping[int, float]) -> float:
    """The cost at a size between ascending others, on the straight line between its neighbours."""
    place = bisect(sizes, size)
    left, right = sizes[max(place - 1, 0)], sizes[min(place, len(sizes) - 1)]
    if left == right:
        return costs[left]
    return costs[left] + (costs[right] - costs[left]) * (size - left) / (right - left)


def _zone(depth: int) -> int:
    return (depth // _SHALLOW).bit_length()
