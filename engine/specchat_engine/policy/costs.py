"""What a pass over w tokens costs on this machine: C(w), learned from every pass that is made."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

_KEPT = 15
"""Of each width so many of the latest passes count."""

TRUSTED, _SUGGESTED = 8, 2
"""Below so many passes what is to be guessed, for a width by its neighbours, counts as so many passes."""

_REDRAWN, _NEW = 8, 4
"""The curve is drawn anew after so many passes, and at once where a width has been seen no more than `_NEW` times."""

_MOOD = 5
"""The level is what so many passes say."""

_SHALLOW = 1024

QUICK_MS = 5.0
"""A plain pass that takes less is quick enough for caches to matter: the first one behind a pass of another sort tells
nothing of the next, whose weights are at hand."""


FURTHER, FIRST = 1, 2
"""The widths that a draft model's passes count as: the further ones of a draft, and the first, which reads a token or
two and takes up to twice as long behind a pass of the target, where weights nearly fit the caches."""


class PassCosts:
    """The milliseconds of a model's passes by width and depth, both in tokens.

    A machine that slows down slows all widths, so each time is kept in units of a common level that follows the drift:
    what was measured in another mood of the machine stays comparable. Widths that were seen often say how the level is,
    and what disturbs a pass now and then does not count; where the same width comes again and again it tells the level
    alone, or it would drift away from widths that do not come. Depths are told apart by powers of two from 1024
    tokens on; where a depth has not been seen, the nearest one that has stands in for it.
    """

    def __init__(self, *, slope: float) -> None:
        """`slope` is what a further token costs, in units of a pass over one, while only one width has been seen."""
        self._slope = slope
        self._level = 1.0
        self._levels: deque[float] = deque(maxlen=_MOOD)
        self._told_by: deque[tuple[int, int]] = deque(maxlen=_MOOD)
        self._seen: dict[int, dict[int, deque[float]]] = {}
        self._usual: dict[int, dict[int, float]] = {}
        self._stale: dict[int, set[int]] = {}
        self._shapes: dict[int, dict[int, float]] = {}
        self._drawn: tuple[int, list[float]] = (-1, [])
        self._since = 0

    def observe(self, width: int, depth: int, milliseconds: float) -> None:
        """Counts one pass over `width` tokens behind `depth` others."""
        if milliseconds <= 0:
            return
        zone = _zone(depth)
        times = self._seen.setdefault(zone, {}).setdefault(width, deque(maxlen=_KEPT))
        if len(times) >= TRUSTED:
            place, told_by = (zone, width), self._told_by
            compared = told_by.count(place) < len(told_by)
            told_by.append(place)
            self._levels.append(milliseconds / self._shape(zone)[width])
            self._level = _usual(self._levels)
            if not compared:
                return
        times.append(milliseconds / self._level)
        self._stale.setdefault(zone, set()).add(width)
        self._since += 1 if len(times) > _NEW else _REDRAWN
        if self._since >= _REDRAWN:
            self._shapes.clear()
            self._drawn = -1, []
            self._since = 0

    def seen(self, width: int) -> int:
        """How many of the latest passes over `width` tokens count, at any depth."""
        return sum(len(times[width]) for times in self._seen.values() if width in times)

    def at(self, width: int, depth: int) -> float | None:
        """The expected milliseconds of a pass, None until one has been seen."""
        if not self._seen:
            return None
        if width < 1:
            return 0.0
        shape = self._shape(self._nearest(depth))
        known = shape.get(width)
        return self._level * (self._between(shape, [*shape], width) if known is None else known)

    def curve(self, depth: int, most: int) -> list[float] | None:
        """The expected milliseconds of passes over 0 to at least `most` tokens, None until one has been seen.

        The curve is drawn anew after some passes only, since a round decides by it in a few microseconds.
        """
        if not self._seen:
            return None
        zone, drawn = self._drawn
        if zone != _zone(depth) or len(drawn) <= most:
            drawn = self._draw(self._shape(self._nearest(depth)), most)
            self._drawn = _zone(depth), drawn
        return drawn

    def _usually(self, zone: int) -> dict[int, float]:
        """What a pass of each width that was seen in a zone usually takes, in units of the level."""
        usual, seen = self._usual.setdefault(zone, {}), self._seen[zone]
        for width in self._stale.pop(zone, ()):
            usual[width] = _usual(seen[width])
        return usual

    def _nearest(self, depth: int) -> int:
        wanted = _zone(depth)
        return wanted if wanted in self._seen else min(self._seen, key=lambda zone: abs(zone - wanted))

    def _shape(self, zone: int) -> dict[int, float]:
        """The widths that were seen in a zone, ascending, and their costs in units of the level.

        A few passes alone may mislead, and a width that looks dear would not be tried again: so they count together
        with what the other widths suggest. Not for a pass over one token, behind which there often is a step.
        """
        if zone not in self._shapes:
            seen, usual, shape = self._seen[zone], self._usually(zone), {}
            widths = sorted(usual)
            for place, width in enumerate(widths):
                value, count = usual[width], len(seen[width])
                if len(widths) > 1 and width > 1 and count < TRUSTED:
                    others = widths[:place] + widths[place + 1 :]
                    value = leaning(value, count, self._between(usual, others, width))
                shape[width] = value
            self._shapes[zone] = shape
        return self._shapes[zone]

    def _between(self, shape: Mapping[int, float], widths: list[int], width: int) -> float:
        """The cost at a width by a straight line through its neighbours among these ascending ones."""
        place = bisect_left(widths, width)
        start, begin, slope = self._line(shape, widths, place)
        return begin + slope * (width - start)

    def _draw(self, shape: Mapping[int, float], most: int) -> list[float]:
        """The milliseconds of passes over 0 to at least `most` tokens: the same lines, drawn in one go."""
        widths, level = [*shape], self._level
        start, cost, slope = self._line(shape, widths, 0)
        drawn = [0.0, *[level * (cost + slope * (width - start)) for width in range(1, widths[0] + 1)]]
        for left, right in pairwise(widths):
            cost, wide = shape[left], right - left
            slope = max(0.0, (shape[right] - cost) / wide)
            drawn += [level * (cost + slope * further) for further in range(1, wide + 1)]
        last, cost, slope = self._line(shape, widths, len(widths))
        drawn += [level * (cost + slope * (width - last)) for width in range(last + 1, most + 1)]
        return drawn

    def _line(self, shape: Mapping[int, float], widths: list[int], place: int) -> tuple[int, float, float]:
        """A width, its cost and the slope of the line that leads to the seen width at `place` or, behind all, goes on.

        Beyond the widest that was seen the last slope goes on, but no steeper than what is usual: what turns out to be
        dearer is learned by trying, and what was never tried because of a step before it never would be.
        """
        first = widths[0]
        usual = self._slope * shape[first] / (1 + self._slope * (first - 1))
        if len(widths) == 1:
            return first, shape[first], usual
        left, right = widths[max(place - 1, 0)], widths[min(max(place, 1), len(widths) - 1)]
        if place == len(widths):
            left, right = widths[-2:]
        slope = max(0.0, (shape[right] - shape[left]) / (right - left))
        if place == len(widths):
            return right, shape[right], min(slope, usual)
        if place == 0:
            return left, shape[left], min(slope, 0.9 * shape[left] / left)
        return left, shape[left], slope

    def measured(self, depth: int) -> dict[int, float]:
        """The usual milliseconds of a pass by its width, ascending: what was seen at this depth or the nearest one."""
        usual = self._usually(self._nearest(depth)) if self._seen else {}
        return {width: self._level * usual[width] for width in sorted(usual)}

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time: by zone and width the milliseconds, and how many passes say so."""
        level = self._level
        return {
            str(zone): {str(width): [round(level * usual[width], 6), len(times)] for width, times in seen.items()}
            for zone, seen, usual in ((zone, seen, self._usually(zone)) for zone, seen in self._seen.items())
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], *, slope: float) -> PassCosts:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        costs = cls(slope=slope)
        for zone, seen in kept.items():
            times = {
                int(width): deque([float(value)] * min(int(count), TRUSTED), _KEPT)
                for width, (value, count) in seen.items()
            }
            if any(not (width > 0 and value and 0 < value[0] < float("inf")) for width, value in times.items()):
                raise ValueError("a cost that is not positive, or that nobody measured")
            if times:
                costs._seen[int(zone)] = times
                costs._usual[int(zone)] = {width: value[0] for width, value in times.items()}
        return costs


def leaning(value: float, count: int, guess: float) -> float:
    """What few passes say, `count` of them, together with what was to be guessed: the first ones may mislead."""
    return (count * value + _SUGGESTED * guess) / (count + _SUGGESTED)


def following(average: float, value: float, share: float) -> float:
    """A moving average behind one more value, which counts for `share`; 0 is an average of nothing."""
    return average + share * (value - average) if average else value


def _usual(times: Iterable[float]) -> float:
    """What a pass takes when nothing disturbs it: a third of the times are shorter, since noise only adds to them."""
    ordered = sorted(times)
    return ordered[(len(ordered) - 1) // 3]


def _zone(depth: int) -> int:
    return (depth // _SHALLOW).bit_length()
