"""What passes and drafts cost on this machine: C(w), the time of a target pass over w tokens, and the time of drafts.

Both are curves over a size, which `CostCurve` learns from the rounds of real answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Self

import numpy as np

from specchat_engine.decoding.costs import CostLine
from specchat_engine.decoding.drafts import DrafterTraits

_KEPT = 15
"""How many times are kept for each size: the latest ones."""

_TRUSTED = 8
"""A size with this many times is known well. With fewer, the neighbouring sizes count as well."""

_COMPARED = 3
"""A size with this many times shows how fast the machine is at the moment."""

_CALIBRATED = 4
"""Drafts are known well enough after this many times."""

_RESTORED = 2
"""A time that was kept since an earlier start counts like this many, so that one new time can correct it."""

_GUESSED = 2
"""The weight of a guess, in measured times."""

_RATIOS = 5
"""The machine's current speed is estimated from this many times."""

_SHALLOW = 1024
"""All contexts below this depth share one curve. Deeper ones have a curve for each power of two."""

_TARGET_SLOPE = 0.35
"""The initial estimate of what each further token adds to a target pass, in passes over one token."""

_STEP_SHARE = 0.1
"""The initial estimate of a draft step, in target passes over one token."""


class CostCurve:
    """Milliseconds by size and by depth of the context in tokens.

    When a machine slows down, everything slows down. So times are divided by the machine's current slowness, 1 at
    first, and old times stay comparable. Noise only makes passes slower, so the cost of a size is the lower third of
    its kept times rather than their median. What was not measured yet is taken from a curve that this one resembles, if
    there is one.
    """

    def __init__(self, slope: float) -> None:
        """`slope` is what each further size adds, relative to size 1, until two sizes were measured."""
        self._slope = slope
        self._own_slowness = 1.0
        self._beside: CostCurve | None = None
        self._ratios: deque[float] = deque(maxlen=_RATIOS)
        self._ratio_sizes: deque[tuple[int, int]] = deque(maxlen=_RATIOS)
        self._times: dict[int, dict[int, deque[float]]] = {}
        self._usual: dict[int, dict[int, float]] = {}
        self._timed: dict[int, dict[int, deque[float]]] = {}
        self._curves: dict[int, dict[int, float]] = {}
        self._lines: dict[tuple[int, int], list[float]] = {}
        self._resembled: CostCurve | None = None

    def resemble(self, other: CostCurve) -> None:
        """Takes what was not measured here from another curve, in proportion."""
        self._resembled = other if other is not self else None
        self._curves.clear()
        self._lines.clear()

    @property
    def slowness(self) -> float:
        """How many times as long as usual everything takes at the moment."""
        return self._own_slowness * (self._beside.slowness if self._beside else 1.0)

    def slow_down_with(self, other: CostCurve) -> None:
        """Takes as much longer as another curve, whose passes are made by the same threads."""
        self._beside = other

    def observe(self, size: int, depth: int, milliseconds: float, timed_ms: float | None = None) -> None:
        """Learns what a size took at this depth of the context. `timed_ms` is the time of its passes alone, if that
        differs."""
        if milliseconds <= 0:
            return
        zone = _zone(depth)
        timed = self._timed.setdefault(zone, {}).setdefault(size, deque(maxlen=_KEPT))
        timed.append(milliseconds if timed_ms is None else timed_ms)
        milliseconds /= self._beside.slowness if self._beside else 1.0
        times = self._times.setdefault(zone, {}).setdefault(size, deque(maxlen=_KEPT))
        if len(times) >= _COMPARED:
            self._ratios.append(milliseconds / self._usual[zone][size])
            self._own_slowness = _undisturbed(self._ratios)
            self._ratio_sizes.append((zone, size))
            if len(times) >= _TRUSTED and len(set(self._ratio_sizes)) == 1:
                return  # one size alone cannot distinguish a slower machine from a higher cost
        times.append(milliseconds / self._own_slowness)
        self._usual.setdefault(zone, {})[size] = _undisturbed(times)
        self._curves.clear()
        self._lines.clear()

    @property
    def total(self) -> int:
        """The number of times that are kept, all sizes together."""
        return sum(len(times) for by_size in self._times.values() for times in by_size.values())

    def seen(self, size: int) -> int:
        """How many times are kept for a size, all depths together."""
        return sum(len(times.get(size, ())) for times in self._times.values())

    def lacks(self, size: int, times: int, depth: int) -> bool:
        """Whether a size was measured less often than this, or so slowly that other programs must have disturbed it.

        Size 1 repeated does the work of any size, so none should cost more than that.
        """
        if self.seen(size) < times:
            return True
        known = self.measured(depth)
        return size in known and 1 in known and known[size] > size * known[1]

    def at(self, size: int, depth: int) -> float | None:
        """The expected milliseconds of a size of 1 or more; None before anything was measured."""
        known = self._blended(depth)
        if size in known:
            return self.slowness * known[size]
        curve = self.curve(depth, size)
        return curve[size] if curve else None

    def curve(self, depth: int, most: int) -> list[float] | None:
        """The expected milliseconds of sizes 0 to `most`; None before anything was measured.

        Measured sizes are joined by straight lines. A size costs no more than a larger one: if it took longer, it was
        disturbed. Beyond the largest size the last slope continues, but not steeper than the initial slope. If larger
        sizes cost more than that, trying them will show it.
        """
        known = self._blended(depth)
        if not known:
            return None
        at = _zone(depth), most
        if at not in self._lines:
            self._lines[at] = self._line(known, most)
        slowness = self.slowness
        return [0.0, *(slowness * cost for cost in self._lines[at])]

    def _line(self, known: dict[int, float], most: int) -> list[float]:
        """The costs of sizes 1 to `most` by those of some sizes, ascending."""
        sizes, costs = list(known), list(accumulate(reversed(known.values()), min))[::-1]
        usual = self._slope * costs[0] / (1 + self._slope * (sizes[0] - 1))
        slope = min(usual, (costs[-1] - costs[-2]) / (sizes[-1] - sizes[-2])) if len(sizes) > 1 else usual
        if sizes[0] > 1:
            costs.insert(0, costs[0] - (sizes[0] - 1) * min(usual, 0.9 * costs[0] / sizes[0]))
            sizes.insert(0, 1)
        if most > sizes[-1]:
            costs.append(costs[-1] + slope * (most - sizes[-1]))
            sizes.append(most)
        return list(np.interp(range(1, most + 1), sizes, costs).tolist())

    def measured(self, depth: int) -> dict[int, float]:
        """The usual milliseconds of the measured sizes, ascending, at this depth or the nearest one measured."""
        usual = self._usual[_nearest(self._usual, depth)] if self._usual else {}
        return {size: self.slowness * usual[size] for size in sorted(usual)}

    def timed(self, depth: int) -> dict[int, float]:
        """The milliseconds that each size really took, ascending, at this depth or the nearest one: the lower third of
        the latest times. Times from an earlier start do not count."""
        if not self._timed:
            return {}
        times = self._timed[_nearest(self._timed, depth)]
        return {size: _undisturbed(times[size]) for size in sorted(times)}

    def _blended(self, depth: int) -> dict[int, float]:
        """The costs of the measured sizes, ascending, divided by the slowness.

        A size that looks expensive is not tried again, so one slow pass must not rule it out for ever. For a size with
        few times the line between its neighbours therefore counts as well, or what the resembled curve lets expect.
        Size 1 is left alone, because there is often a step between 1 and 2.
        """
        if _zone(depth) in self._curves:
            return self._curves[_zone(depth)]
        zone = _nearest(self._usual, depth)
        elsewhere = self._resembled.measured(depth) if self._resembled else {}
        own = dict(sorted(self._usual.get(zone, {}).items()))
        if not own:
            return elsewhere
        known = dict(own)
        for size, cost in own.items():
            count = len(self._times[zone][size])
            if size > 1 and count < _TRUSTED and len(own) > 1:
                others = {other: own[other] for other in own if other != size}
                known[size] = (count * cost + _GUESSED * self._guess(size, others, elsewhere)) / (count + _GUESSED)
        guesses = {size: self._guess(size, known, elsewhere) for size in elsewhere if size not in own}
        self._curves[_zone(depth)] = known = dict(sorted({**known, **guesses}.items()))
        return known

    def _guess(self, size: int, known: Mapping[int, float], elsewhere: dict[int, float]) -> float:
        """The cost of a size by the known ones, ascending: as much above or below the resembled curve, whose costs are
        `elsewhere`, as the nearest known one; without such a curve on the straight line between its neighbours."""
        if not elsewhere:
            return CostLine([*known.items()]).at(min(max(size, min(known)), max(known)))
        nearest = min(known, key=lambda other: (abs(other - size), other))
        line = self._line(elsewhere, max(size, nearest))
        return known[nearest] * (line[size - 1] / line[nearest - 1])

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: the milliseconds of each size at each depth, and the number of times."""
        return {
            str(zone): {
                str(size): [round(self.slowness * cost, 6), len(self._times[zone][size])]
                for size, cost in usual.items()
            }
            for zone, usual in self._usual.items()
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any], slope: float) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        curve = cls(slope)
        for zone, costs in record.items():
            for size, (milliseconds, count) in costs.items():
                if not (int(size) > 0 and int(count) > 0 and 0 < float(milliseconds) < float("inf")):
                    raise ValueError(f"{count} passes over {size} tokens that took {milliseconds} ms each")
                times = deque([float(milliseconds)] * min(int(count), _RESTORED), _KEPT)
                curve._times.setdefault(int(zone), {})[int(size)] = times
                curve._usual.setdefault(int(zone), {})[int(size)] = float(milliseconds)
        return curve


class CostsByThreads:
    """A curve for each number of threads; `current` is the one of the threads in force.

    What was learned before the number of threads was known is assigned to the first number that is set. A width
    that was not measured with these is expected to cost as much more than a plain pass as with the best-known number.
    """

    def __init__(self, slope: float = _TARGET_SLOPE) -> None:
        self._slope = slope
        self._threads = 0
        self._curves = {0: CostCurve(slope)}

    @property
    def current(self) -> CostCurve:
        """The curve of the threads in force."""
        return self._curves[self._threads]

    def of(self, threads: int) -> CostCurve:
        """The curve of a number of threads."""
        if threads not in self._curves:
            self._curves[threads] = CostCurve(self._slope)
        return self._curves[threads]

    @property
    def best_known(self) -> CostCurve:
        """The curve of the number of threads that was measured most often."""
        return max(self._curves.values(), key=lambda curve: curve.total)

    def use(self, threads: int, beside: CostCurve | None = None) -> None:
        """Sets the number of threads in force. With them, `beside` has what the passes of another model cost."""
        if threads != self._threads:
            unknown = self._curves.pop(0, None)
            curve = self._curves.setdefault(threads, unknown or CostCurve(self._slope))
            curve.resemble(self.best_known)
            if beside:
                curve.slow_down_with(beside)
            self._threads = threads

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start: curves by number of threads."""
        return {str(threads): curve.to_json() for threads, curve in self._curves.items()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any], slope: float = _TARGET_SLOPE) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        costs = cls(slope)
        for threads, curve in record.items():
            costs._curves[int(threads)] = CostCurve.from_json(curve, slope)
        return costs


class DraftCosts:
    """What the drafts of one drafter cost, by the number of passes, and what reading a token costs."""

    def __init__(self) -> None:
        self.by_threads = CostsByThreads(slope=1.0)
        self.read_ms: float | None = None

    def expected(self, drafter: DrafterTraits, depth: int, most: int, plain_ms: float) -> list[float]:
        """Returns the milliseconds of drafts of 0 to `most` tokens. While few were timed, a guess counts as well: what
        they take with the best-known number of threads."""
        passes = [_passes(drafter, length) for length in range(most + 1)]
        if not passes[-1]:
            return [0.0] * len(passes)
        curve, usual = self.by_threads.current, self.by_threads.best_known
        guess = [_STEP_SHARE * plain_ms * count for count in range(passes[-1] + 1)]
        if usual is not curve and (elsewhere := usual.curve(depth, passes[-1])):
            guess = elsewhere
        timed = curve.curve(depth, passes[-1]) or guess
        weight = 1.0 if curve.total >= _CALIBRATED else curve.total / (curve.total + _GUESSED)
        return [(1 - weight) * guess[count] + weight * timed[count] for count in passes]

    def observe(
        self, drafter: DrafterTraits, length: int, depth: int, milliseconds: float, timed_ms: float | None = None
    ) -> None:
        """Learns what a draft of this length took at this depth of the context; `timed_ms` as for `CostCurve`."""
        if passes := _passes(drafter, length):
            self.by_threads.current.observe(passes, depth, milliseconds, timed_ms)

    def learn_reading(self, tokens: int, milliseconds: float) -> None:
        """Learns what reading these tokens took, without any drafting."""
        if tokens > 0:
            self.read_ms = max(0.0, milliseconds) / tokens

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return self.by_threads.to_json()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        costs = cls()
        costs.by_threads = CostsByThreads.from_json(record, slope=1.0)
        return costs


def _passes(drafter: DrafterTraits, length: int) -> int:
    """How many passes a draft of this length takes."""
    if drafter.cost == "step":
        return length
    return min(length, 1) if drafter.cost == "draft" else 0


def _undisturbed(times: Iterable[float]) -> float:
    """The time that a third of the times are shorter than."""
    ordered = sorted(times)
    return ordered[(len(ordered) - 1) // 3]


def _nearest(zones: Iterable[int], depth: int) -> int:
    return min(zones, key=lambda zone: abs(zone - _zone(depth)), default=_zone(depth))


def _zone(depth: int) -> int:
    """The number of the curve for this depth, 0 for shallow contexts."""
    return (depth // _SHALLOW).bit_length()
