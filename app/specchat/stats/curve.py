"""C(w) at any width, from the widths that were measured; every value says what it rests on."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from enum import IntEnum
from statistics import median
from typing import NamedTuple

from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import BY_MODEL, Round

_OFTEN, _SOME = 8, 3


class Basis(IntEnum):
    """What a number rests on, the firmest first: it was measured, lies between measured ones, or beyond them."""

    MEASURED = 0
    INTERPOLATED = 1
    EXTRAPOLATED = 2


class CostCurve(NamedTuple):
    """The milliseconds of target passes: measured `points` (width, ms), ascending, straight lines between them.

    Beyond the last width its last slope goes on, and below the first its first one; a wider pass is never cheaper
    there. Make one with `curve_of`, which knows when too little was measured for a line.
    """

    points: tuple[tuple[int, float], ...]

    def at(self, width: int) -> float:
        """The expected milliseconds of a pass over so many tokens."""
        place = min(max(bisect_left([known for known, _ in self.points], width), 1), len(self.points) - 1)
        (left, low), (right, high) = self.points[place - 1], self.points[place]
        slope = (high - low) / (right - left)
        if width > right:
            return high + max(slope, 0.0) * (width - right)
        if width < left:
            return max(low - max(slope, 0.0) * (left - width), low * width / left)
        return low + slope * (width - left)

    def basis(self, width: int) -> Basis:
        """What that value rests on."""
        widths = [known for known, _ in self.points]
        if width in widths:
            return Basis.MEASURED
        return Basis.INTERPOLATED if widths[0] < width < widths[-1] else Basis.EXTRAPOLATED


def curve_of(costs: MeasuredCosts) -> CostCurve | None:
    """The curve through what was measured; None where fewer than two widths were, through which no line leads."""
    points = tuple((width, ms) for width, ms in costs.verify if ms > 0)
    return CostCurve(points) if len(points) > 1 else None


def costs_of(rounds: Iterable[Round], plain_ms: float | None = None) -> MeasuredCosts:
    """What the rounds themselves tell of costs, for traces without a record of them: medians by width.

    `plain_ms` is C(1) where it is known otherwise. An answer's first round is left out: it runs on cold caches.
    """
    by_width, steps = _passes(rounds)
    verify = {width: median(times) for width, times in by_width.items()} | ({1: plain_ms} if plain_ms else {})
    return MeasuredCosts(tuple(sorted(verify.items())), median(steps) if steps else None)


def fitted(record: MeasuredCosts, rounds: Iterable[Round]) -> MeasuredCosts:
    """A record of costs, brought to the pace of a turn by the passes that the turn made itself.

    A machine that slows down slows all widths alike, so the record keeps its shape and takes the turn's level. A width
    that the turn passed eight times counts as it was there, and so does one, passed three times, that the record lacks.
    """
    by_width, steps = _passes(rounds)
    known = dict(record.verify)
    ratios = [ms / known[width] for width, times in by_width.items() if known.get(width) for ms in times]
    level = median(ratios) if len(ratios) >= _OFTEN else 1.0
    verify = {width: ms * level for width, ms in known.items()}
    for width, times in by_width.items():
        if len(times) >= (_OFTEN if width in known else _SOME):
            verify[width] = median(times)
    few = len(steps) < (_SOME if record.draft_step is None else _OFTEN)
    return MeasuredCosts(tuple(sorted(verify.items())), record.draft_step if few else median(steps))


def _passes(rounds: Iterable[Round]) -> tuple[dict[int, list[float]], list[float]]:
    """The times of the target's passes by width and of the draft model's steps, those of the first round left out."""
    by_width: dict[int, list[float]] = {}
    steps: list[float] = []
    for event in rounds:
        if event.index == 0:
            continue
        by_width.setdefault(len(event.drafted) + 1, []).append(event.ms.verify)
        if event.source in BY_MODEL and event.drafted:
            steps.append(event.ms.draft / len(event.drafted))
    return by_width, steps
