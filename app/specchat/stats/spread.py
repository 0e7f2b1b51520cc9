"""The distribution of measured values in bounded memory. Distributions of parts add up exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from specchat_engine.codec import from_json

ERROR = 0.01
"""The largest relative error of a quantile."""

_GROWTH = math.log((1 + ERROR) / (1 - ERROR))
_LOWEST, _HIGHEST = 1e-4, 1e8
"""Values outside count as the nearer bound. There are at most 1,400 classes, usually a few dozen."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Counts of values in classes whose bounds grow by 2 %. `a + b` is the distribution of the values of both.

    Source: Masson, Rim, Lee, "DDSketch", VLDB 2019, arXiv 1908.10693, section 2.
    """

    counts: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The distribution of positive values. Values that are not positive count as the lowest."""
        return cls(dict(Counter(_class(value) for value in values)))

    def __add__(self, other: Spread) -> Spread:
        """Both together."""
        return Spread(dict(Counter(self.counts) + Counter(other.counts)))

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts.values())

    def quantile(self, share: float) -> float | None:
        """The value that this share of the values does not exceed, within 1 %; None without values."""
        rank = max(1, math.ceil(share * self.count))
        for bin_class in sorted(self.counts):
            rank -= self.counts[bin_class]
            if rank <= 0:
                return _middle(bin_class)
        return None

    def bins(self, most: int) -> list[tuple[float, float, int]]:
        """At most `most` adjacent bins from the lowest value to the highest: lower end, upper end, count."""
        if not self.counts:
            return []
        first, last = min(self.counts), max(self.counts)
        width = math.ceil((last - first + 1) / most)
        starts = range(first, last + 1, width)
        return [
            (
                _upper(start - 1),
                _upper(min(start + width - 1, last)),
                sum(self.counts.get(bin_class, 0) for bin_class in range(start, start + width)),
            )
            for start in starts
        ]

    def to_json(self) -> list[list[int]]:
        """Pairs of a class and its count, as JSON."""
        return [[bin_class, self.counts[bin_class]] for bin_class in sorted(self.counts)]

    @classmethod
    def from_json(cls, stored: Any) -> Spread:
        """Reads what `to_json` wrote. Raises ValueError for anything else."""
        counts = dict(from_json(list[tuple[int, int]], stored))
        if any(
            count < 1 or not _class(_LOWEST) <= bin_class <= _class(_HIGHEST) for bin_class, count in counts.items()
        ):
            raise ValueError("these are not the counts of a distribution")
        return cls(counts)


def _class(value: float) -> int:
    """The class of a value: `_upper(class - 1) < value <= _upper(class)`."""
    return math.ceil(math.log(min(max(value, _LOWEST), _HIGHEST)) / _GROWTH)


def _upper(bin_class: int) -> float:
    return math.exp(bin_class * _GROWTH)


def _middle(bin_class: int) -> float:
    """A value within 1 % of all values of its class."""
    return 2 * _upper(bin_class) / (1 + math.exp(_GROWTH))
