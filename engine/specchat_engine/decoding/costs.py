"""What passes cost on this machine: plain target passes by depth of the context, C(1), and all of a turn's passes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from specchat_engine.decoding.rounds import Round

_TOLD_PASSES, _TOLD_MS = 32, 40.0
"""Passes are told together: at most this many, and fewer once they have taken this many milliseconds."""

ENOUGH = 8
"""How many passes at a similar depth make a measurement."""


class PlainCost:
    """Remembers the last plain passes of one model. Depth is counted in tokens."""

    def __init__(self, keep: int = 512) -> None:
        self._passes: deque[tuple[int, float]] = deque(maxlen=keep)

    def observe(self, depth: int, milliseconds: float) -> None:
        """Counts one target pass over one token."""
        self._passes.append((depth, milliseconds))

    def forget(self) -> None:
        """Drops all passes, because other threads compute them from now on."""
        self._passes = deque(maxlen=self._passes.maxlen)

    def missing(self, depth: int) -> int:
        """How many more passes are needed near this depth."""
        return max(0, ENOUGH - len(self._near(depth)))

    def at(self, depth: int) -> float | None:
        """The median time in milliseconds near this depth, None until there are enough passes."""
        near = self._near(depth)
        return median(near) if len(near) >= ENOUGH else None

    def _near(self, depth: int) -> list[float]:
        reach = max(256, depth // 4)
        return [milliseconds for place, milliseconds in self._passes if abs(place - depth) <= reach]


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """What passes cost at the depth of an answer, in milliseconds, as far as it was measured since the start.

    `verify` has the widths of the target's passes, ascending, each with a time that such a pass took. `draft_step` is
    the time of a draft of the draft model by the tokens that it drafted, None if there was none. Nothing is estimated.
    """

    verify: tuple[tuple[int, float], ...] = ()
    draft_step: float | None = None


class PassTimes:
    """Passes on the times of a turn's passes, except those of rounds after a pause.

    The cost of a plain pass comes from plain rounds that follow a plain round, since a pass right after a draft takes
    longer. `tell` gets all passes, several short ones at once: the tokens and the milliseconds of each target pass, and
    the milliseconds of the draft before it.
    """

    def __init__(
        self, plain_cost: PlainCost, tell: Callable[[Sequence[tuple[int, float, float]]], None] | None
    ) -> None:
        self._plain_cost = plain_cost
        self._tell = tell
        self._after_plain = False
        self._untold: list[tuple[int, float, float]] = []

    def observe(self, event: Round, depth: int, *, after_pause: bool) -> None:
        """Counts one round, after which the context has `depth` tokens; `after_pause` says that it followed a pause."""
        plain = not event.drafted and not after_pause
        if plain and self._after_plain:
            self._plain_cost.observe(depth, event.ms.verify)
        self._after_plain = plain
        if after_pause or not self._tell:
            return
        self._untold.append((1 + len(event.drafted), event.ms.verify, event.ms.draft))
        took = sum(verify + draft for _, verify, draft in self._untold)
        if len(self._untold) == _TOLD_PASSES or took > _TOLD_MS:
            untold, self._untold = self._untold, []
            self._tell(untold)
