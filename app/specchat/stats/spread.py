"""How a measured quantity is spread, in bounded room: spreads of parts add up to the spread of all, exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ERROR = 0.01
"""A quantile is off by no more than that share of it."""

_GROWTH = math.log((1 + ERROR) / (1 - ERROR))
_LOWEST, _HIGHEST = 1e-4, 1e8
"""Values beyond count as the nearest of these: at most 1,400 classes are ever kept, usually some dozen."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Counts of values by classes whose bounds grow by 2 %. `a + b` is what all values of both would have given.

    Source: Masson, Rim, Lee, "DDSketch", VLDB 2019, arXiv 1908.10693, section 2.
    """

    counts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of positive values; what is not positive counts as the lowest."""
        return cls(dict(Counter(_class(value) for value in values)))

    def __add__(self, other: Spread) -> Spread:
        """Both together."""
        return Spread(dict(Counter(self.counts) + Counter(other.counts)))

    @property
    def count(self) -> int:
        """How many values there were."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> float | None:
        """The value that this share of the values does not exceed, within 1 %; None where there are none."""
        rank = max(1, math.ceil(share * self.count))
        for place in sorted(self.counts):
            rank -= self.counts[place]
            if rank <= 0:
                return _middle(place)
        return None

    def bins(self, most: int) -> list[tuple[float, float, int]]:
        """At most so many neighbouring bins from the lowest value to the highest: lower end, upper end, count."""
        if not self.counts:
            return []
        first, last = min(self.counts), max(self.counts)
        width = math.ceil((last - first + 1) / most)
        starts = range(first, last + 1, width)
        return [
            (
                _upper(start - 1),
                _upper(min(start + width - 1, last)),
                sum(self.counts.get(place, 0) for place in range(start, start + width)),
            )
            for start in starts
        ]

    def to_json(self) -> list[list[int]]:
        """Pairs of a class and its count, to be kept."""
        return [[place, self.counts[place]] for place in sorted(self.counts)]

    @classmethod
    def from_json(cls, kept: Any) -> Spread:
        """Reads what `to_json` wrote. Raises TypeError or ValueError for anything else."""
        counts = {int(place): int(count) for place, count in kept}
        if any(count < 1 or not _class(_LOWEST) <= place <= _class(_HIGHEST) for place, count in counts.items()):
            raise ValueError("these are no counts of a spread")
        return cls(counts)


def _class(value: float) -> int:
    """The class that a value falls into: `_upper(class - 1) < value <= _upper(class)`."""
    return math.ceil(math.log(min(max(value, _LOWEST), _HIGHEST)) / _GROWTH)


def _upper(place: int) -> float:
    return math.exp(place * _GROWTH)


def _middle(place: int) -> float:
    """The value that is within 1 % of every one of its class."""
    return 2 * _upper(place) / (1 + math.exp(_GROWTH))
