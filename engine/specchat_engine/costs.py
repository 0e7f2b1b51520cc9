"""What a plain target pass costs on this machine, by depth of the context: C(1)."""

from __future__ import annotations

from collections import deque
from statistics import median

ENOUGH = 8
"""So many passes at a similar depth make a measurement."""


class PlainCost:
    """Remembers the last plain passes of one model. Depth is counted in tokens."""

    def __init__(self, keep: int = 512) -> None:
        self._passes: deque[tuple[int, float]] = deque(maxlen=keep)

    def observe(self, depth: int, milliseconds: float) -> None:
        """Counts one target pass over one token."""
        self._passes.append((depth, milliseconds))

    def missing(self, depth: int) -> int:
        """How many more passes are needed near this depth."""
        return max(0, ENOUGH - len(self._near(depth)))

    def at(self, depth: int) -> float | None:
        """The median time in milliseconds near this depth, None until enough passes were seen."""
        near = self._near(depth)
        return median(near) if len(near) >= ENOUGH else None

    def _near(self, depth: int) -> list[float]:
        reach = max(256, depth // 4)
        return [milliseconds for place, milliseconds in self._passes if abs(place - depth) <= reach]
