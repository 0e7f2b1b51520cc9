"""What passes cost on this machine: C(1) in the state in which an answer was decoded, and all of a turn's passes."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from statistics import mean, stdev
from typing import TYPE_CHECKING

from specchat_engine.decoding.rounds import Round, RoundTimes

if TYPE_CHECKING:
    from specchat_engine.models import SessionModel  # it needs numpy, which the app does not load at its start

_REPORTED_PASSES, _REPORTED_MS = 32, 40.0
"""Passes are reported together: at most this many, and fewer once they have taken this many milliseconds."""

ENOUGH, _FEWEST = 16, 2
"""How many plain passes are made to measure C(1), and how many will do where they are slow."""

_CERTAIN = 0.1
"""C(1) is known if its standard error is at most this share of it."""

_ALIKE = 0.2
"""Two shares of processor time belong to the same state of the machine if they differ by at most this much of the
larger one."""


@dataclass(slots=True)
class CpuShare:
    """How much of the processor time that threads wanted they got, in milliseconds. Other programs took the rest."""

    wanted: float = 0.0
    computed: float = 0.0

    def add(self, wanted: float, computed: float) -> None:
        """Counts some time of decoding."""
        self.wanted += wanted
        self.computed += computed

    @property
    def value(self) -> float | None:
        """The share, 1 at most; None before anything was counted."""
        return min(1.0, self.computed / self.wanted) if self.wanted else None

    def is_like(self, other: CpuShare) -> bool:
        """Whether other programs took about as much in both."""
        mine, theirs = self.value, other.value
        return mine is not None and theirs is not None and abs(mine - theirs) <= _ALIKE * max(mine, theirs)


@dataclass(slots=True)
class PlainCost:
    """The plain passes of one answer, and those that were made right after it. `share` is what they computed for."""

    share: CpuShare = field(default_factory=CpuShare)
    times: list[float] = field(default_factory=list)

    def observe(self, milliseconds: float, wanted: float, computed: float) -> None:
        """Counts one target pass over one token, with the processor time that was wanted and got meanwhile."""
        self.times.append(milliseconds)
        self.share.add(wanted, computed)

    @property
    def missing(self) -> int:
        """How many more passes are needed."""
        return max(0, ENOUGH - len(self.times))

    @property
    def value(self) -> float | None:
        """C(1): the mean time of these passes in milliseconds; None if there are too few or they differ too much."""
        count = len(self.times)
        if count < _FEWEST:
            return None
        usual = mean(self.times)
        return usual if stdev(self.times) <= _CERTAIN * usual * count**0.5 else None


@dataclass(frozen=True, slots=True)
class MeasuredCosts:
    """What passes cost at the depth of an answer, in milliseconds, as far as it was measured since the start.

    `verify` has the widths of the target's passes, ascending, each with a time that such a pass took. `draft_step` is
    the time of a draft of the draft model by the tokens that it drafted, None if there was none. Nothing is estimated.
    """

    verify: tuple[tuple[int, float], ...] = ()
    draft_step: float | None = None

    @property
    def curve(self) -> CostLine | None:
        """C(w) through the measured widths; None if there are fewer than two."""
        points = tuple((width, ms) for width, ms in self.verify if ms > 0)
        return CostLine(points) if len(points) > 1 else None


class Basis(IntEnum):
    """How a value was found, the most reliable way first."""

    MEASURED = 0
    INTERPOLATED = 1
    EXTRAPOLATED = 2


@dataclass(frozen=True, slots=True)
class CostLine:
    """Milliseconds by width: straight lines through `points`, ascending by width, of which there is at least one.

    Beyond the last point the slope of the last line continues, and a wider pass is never cheaper there.
    """

    points: Sequence[tuple[int, float]]

    def at(self, width: int) -> float:
        """Returns the milliseconds of a pass over `width` tokens."""
        if len(self.points) == 1:
            return self.points[0][1]
        index = min(max(bisect_left(self.points, (width, 0.0)), 1), len(self.points) - 1)
        (left, low), (right, high) = self.points[index - 1], self.points[index]
        slope = (high - low) / (right - left)
        if width > right:
            return high + max(slope, 0.0) * (width - right)
        if width < left:
            return max(low - max(slope, 0.0) * (left - width), low * width / left)
        return low + slope * (width - left)

    def filled(self) -> list[float]:
        """Returns the milliseconds of every width from the first point to the last."""
        milliseconds = []
        for (left, low), (right, high) in pairwise(self.points):
            slope = (high - low) / (right - left)
            milliseconds += [low + slope * ahead for ahead in range(right - left)]
        return [*milliseconds, self.points[-1][1]]

    def basis(self, width: int) -> Basis:
        """Returns how `at` finds a value."""
        widths = [known for known, _ in self.points]
        if width in widths:
            return Basis.MEASURED
        return Basis.INTERPOLATED if widths[0] < width < widths[-1] else Basis.EXTRAPOLATED


class PassTimes:
    """The times of one answer's passes, except those of rounds after a pause.

    `plain` has its plain passes: those of plain rounds that follow a plain round, since a pass right after a draft
    takes longer. `share` is the processor time that all of its rounds got. `on_passes` gets all passes, several short
    ones at once: the tokens and the milliseconds of each target pass, and the milliseconds of the draft before it.
    """

    def __init__(
        self,
        target: SessionModel,
        drafting: Sequence[SessionModel],
        on_passes: Callable[[Sequence[tuple[int, float, float]]], None] | None = None,
        *,
        on_cpu: bool = True,
    ) -> None:
        """`drafting` are the models that draft.

        `on_cpu` says whether the processors do all the computing, so that their time shows what other programs do.
        """
        self.plain = PlainCost()
        self.share = CpuShare()
        self._target = target
        self._drafting = drafting
        self._on_passes = on_passes
        self._on_cpu = on_cpu
        self._processors = os.cpu_count() or 1  # asking the system takes longer than all else that is counted here
        self._after_plain = False
        self._threads: set[int] = set()
        self._unreported: list[tuple[int, float, float]] = []

    def observe(self, event: Round, own: RoundTimes, computed: float, *, after_pause: bool) -> None:
        """Counts one round.

        `own` are its times without those of the reader, `computed` is the processor time that the process got
        meanwhile. `after_pause` says that the round followed a pause.
        """
        plain = not event.drafted and not after_pause
        if not after_pause:
            wanted = self.wanted(own)
            self._threads.add(self._target.threads)
            self.share.add(wanted, computed)
            if plain and self._after_plain:
                self.plain.observe(event.ms.verify, wanted, computed)
        self._after_plain = plain
        if after_pause or not self._on_passes:
            return
        self._unreported.append((1 + len(event.drafted), event.ms.verify, event.ms.draft))
        took = sum(verify + draft for _, verify, draft in self._unreported)
        if len(self._unreported) == _REPORTED_PASSES or took > _REPORTED_MS:
            unreported, self._unreported = self._unreported, []
            self._on_passes(unreported)

    def wanted(self, times: RoundTimes) -> float:
        """The milliseconds of processor time that a round's threads want while nothing else uses the processors."""
        most = self._processors
        drafting = min(max((model.threads for model in self._drafting), default=0), most)
        return min(self._target.threads, most) * times.verify + drafting * times.draft + times.other + times.rollback

    @property
    def plain_ms(self) -> float | None:
        """C(1) in the state in which the answer was decoded.

        None if the plain passes do not show it, if other programs took more or less of the processors during them than
        during the answer, or if the number of threads changed.
        """
        alike = not self._on_cpu or self.plain.share.is_like(self.share)
        return self.plain.value if alike and len(self._threads) == 1 else None

    @property
    def cpu_share(self) -> float | None:
        """How much of the processor time that its threads wanted the answer got; None if that is not known."""
        return self.share.value if self._on_cpu else None
