"""A model's costs by the number of threads that it computes with: one count says little about another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from specchat_engine.policy.costs import PassCosts

_UNSAID = 0


class CostTables:
    """A table of costs for each thread count; `now` is the one in force.

    What was learned before anybody said how many threads there are belongs to the first count that is said, unless
    that one has a table already.
    """

    __slots__ = ("_slope", "_tables", "_threads")

    def __init__(self, *, slope: float) -> None:
        """`slope` is as in PassCosts."""
        self._slope = slope
        self._threads = _UNSAID
        self._tables = {_UNSAID: PassCosts(slope=slope)}

    @property
    def now(self) -> PassCosts:
        """The table of the count in force."""
        return self._tables[self._threads]

    def of(self, threads: int) -> PassCosts:
        """The table of a count."""
        return self._tables.setdefault(threads, PassCosts(slope=self._slope))

    def use(self, threads: int) -> None:
        """Passes are made with so many threads from now on."""
        if threads == self._threads:
            return
        unsaid = self._tables.pop(_UNSAID, None)
        self._tables.setdefault(threads, unsaid or PassCosts(slope=self._slope))
        self._threads = threads

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time: costs by thread count."""
        return {str(threads): costs.to_json() for threads, costs in self._tables.items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any], *, slope: float) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError, ValueError or AttributeError for anything else."""
        tables = cls(slope=slope)
        for threads, costs in kept.items():
            tables._tables[int(threads)] = PassCosts.from_json(costs, slope=slope)
        return tables
