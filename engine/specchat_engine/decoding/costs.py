"""What a plain target pass costs on this machine, by depth of the context: C(1); and what is told of all passes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

ENOUGH = 8
"""So many passes at a similar depth make a measurement."""


class PlainCost:
    """Remembers the last plain passes of one model. Depth is counted in tokens."""

    def __init__(self, keep: int = 512) -> None:
        self._passes: deque[tuple[int, float]] = deque(maxlen=keep)

    def observe(self, depth: int, milliseconds: float) -> None:
        """Counts one target pass over one token."""
        self._passes.append((depth, milliseconds))

    def forget(self) -> None:
        """What was seen counts no longer: other threads compute the passes from now on."""
        self._passes = deque(maxlen=self._passes.maxlen)

    def missing(self, depth: int) -> int:
        """How many more passes are needed near this depth."""
        return max(0, ENOUGH - len(self._near(depth)))

    def at(self, depth: int) -> float | None:
        """The median time in milliseconds near this depth, None until enough passes were seen."""
        from statistics import median  # slow to import, and the app's side never needs it

        near = self._near(depth)
        return median(near) if len(near) >= ENOUGH else None

    def _near(self, depth: int) -> list[float]:
        reach = max(256, depth // 4)
        return [milliseconds for place, milliseconds in self._passes if abs(place - depth) <= reach]


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """What passes cost at the depth of an answer, in milliseconds: only what was measured on this machine.

    `verify` holds the widths of the target's passes, ascending, with their usual times; `draft_step` is what
    one pass of the draft model takes in a draft of usual length, None where none was made.
    """

    verify: tuple[tuple[int, float], ...] = ()
    draft_step: float | None = None
