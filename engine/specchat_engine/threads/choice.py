"""Measures how many threads are fastest: thread counts take turns, and only a clear gain changes the number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any, Self

from specchat_engine.models import SessionModel
from specchat_engine.policy.calibration import pass_ms
from specchat_engine.policy.cost_model import CostsByThreads
from specchat_engine.settings import USUAL_K

CLEAR = 0.03
"""Another number has to take 3 % less time in the median, and less in every block: noise alone does that in one of 32
cases."""

BLOCKS = 5
"""How often the numbers take turns."""

_HOPELESS, _GIVEN = 1.25, 2
"""A number that took 1.25 times as long in each of the first two blocks is dropped."""

_FAR_TOO_SLOW = 2.5
"""A number is dropped if its first pass takes 2.5 times as long as a pass with the number in force."""

_GOOD_DAYS = 7
"""A choice is checked again after this many days: it may have been made while something else computed."""


class Trial:
    """Numbers of threads that take turns, block by block, beginning with the one in force.

    Times are compared within a block only, since a machine drifts.
    """

    def __init__(self, candidates: Sequence[int], now: int) -> None:
        self._now = now
        self._times: dict[int, list[float]] = {count: [] for count in dict.fromkeys((now, *candidates))}
        self._dropped: dict[int, float] = {}

    @property
    def block(self) -> tuple[int, ...]:
        """The numbers to be timed in the next block, none if the trial is over. Every other block goes backwards."""
        done = len(self._times[self._now])
        left = [count for count, times in self._times.items() if len(times) == done and not self._hopeless(count)]
        if done == BLOCKS or len(left) < 2:
            return ()
        return tuple(reversed(left)) if done % 2 else tuple(left)

    def observe(self, times: Mapping[int, float]) -> None:
        """Takes the milliseconds of one block, by number of threads."""
        for count, milliseconds in times.items():
            self._times[count].append(milliseconds)

    def drops(self, count: int, ratio: float) -> bool:
        """Whether to drop a number because its first pass took `ratio` times as long as with the one in force.

        Once a number has been timed in a block, those times decide instead.
        """
        if ratio > _FAR_TOO_SLOW and count != self._now and not self._times[count]:
            self._dropped[count] = ratio
        return count in self._dropped

    @property
    def chosen(self) -> int:
        """The fastest of the numbers that are clearly faster than the one in force; that one if there is none."""
        clear = [count for count in self._times if self._is_clear(self._ratios(count))]
        return min(clear, key=lambda count: median(self._ratios(count)), default=self._now)

    @property
    def speeds(self) -> tuple[tuple[int, float], ...]:
        """Each number that was timed, with its speed relative to the chosen one's, the most threads first."""
        chosen = median(self._ratios(self.chosen) or [1.0])
        timed = [count for count in sorted(self._times, reverse=True) if self._ratios(count)]
        return tuple((count, round(chosen / median(self._ratios(count)), 3)) for count in timed)

    def _ratios(self, count: int) -> list[float]:
        """The time of each block, relative to the number in force."""
        if count in self._dropped:
            return [self._dropped[count]]
        return [time / base for time, base in zip(self._times[count], self._times[self._now], strict=False)]

    def _is_clear(self, ratios: Sequence[float]) -> bool:
        return len(ratios) == BLOCKS and max(ratios) < 1 and median(ratios) <= 1 - CLEAR

    def _hopeless(self, count: int) -> bool:
        ratios = self._ratios(count)
        return count in self._dropped or (len(ratios) >= _GIVEN and min(ratios) >= _HOPELESS)


def try_target_threads(target: SessionModel, trial: Trial, costs: CostsByThreads) -> Iterator[None]:
    """Times thread counts of the target in turns, and yields after each pass. The costs are learned as well.

    Each count is timed with a pass over one token and one over a draft of the usual length. The first pass with a count
    is not timed, because threads start and stop there. If it takes far too long, the wide pass is left out, since a
    user may already be waiting.
    """
    shapes = 1, 1, min(USUAL_K + 1, target.max_rows)
    single_ms: float | None = None
    while block := trial.block:
        times: dict[int, float] = {}
        for threads in block:
            made: list[float] = []
            for width in shapes:
                if target.length + width > target.capacity:
                    return
                made.append(_with_threads(target, threads, width, width))
                if len(made) > 1:
                    costs.of(threads).observe(width, target.length, made[-1])
                yield
                if single_ms and len(made) == 1 and trial.drops(threads, made[0] / single_ms):
                    break
            else:
                times[threads] = sum(made[1:])
                single_ms = single_ms or made[1]
        trial.observe(times)


def try_draft_threads(target: SessionModel, draft: SessionModel, trial: Trial, costs: CostsByThreads) -> Iterator[None]:
    """Times thread counts of the draft model in turns, and yields after each pass. The costs are learned as well.

    Each count is timed with a whole round, the target's pass included, because starting and stopping threads between
    the two models costs time too. The pass before it is not timed, because threads start and stop there.
    """
    width = min(USUAL_K + 1, target.max_rows)
    while block := trial.block:
        times: dict[int, float] = {}
        for threads in block:
            made: list[float] = []
            for model in (draft, target, *[draft] * USUAL_K):
                if target.length + width > target.capacity or draft.length + 1 > draft.capacity:
                    return
                made.append(pass_ms(target, width, width) if model is target else _with_threads(draft, threads, 1, 1))
                if len(made) == USUAL_K + 2:
                    draft_ms = sum(made[2:])
                    costs.of(threads).observe(USUAL_K, draft.length, draft_ms)
                    times[threads] = made[1] + draft_ms
                yield
        trial.observe(times)


def _with_threads(model: SessionModel, threads: int, width: int, rows: int) -> float:
    """The milliseconds of a pass with this number of threads, which is set for this pass only."""
    before, model.threads = model.threads, threads
    try:
        return pass_ms(model, width, rows)
    finally:
        model.threads = before


@dataclass(frozen=True, slots=True)
class Choice:
    """A number of threads and why: the `speeds` of all that were tried, relative to its own, and the day (ISO)."""

    threads: int
    speeds: tuple[tuple[int, float], ...]
    day: str

    @classmethod
    def of(cls, trial: Trial, today: date) -> Self:
        """The result of a trial."""
        return cls(trial.chosen, trial.speeds, today.isoformat())

    def is_fresh(self, today: date) -> bool:
        """Whether it need not be checked again yet."""
        return 0 <= (today - date.fromisoformat(self.day)).days < _GOOD_DAYS

    def __str__(self) -> str:
        """In words, the chosen count first."""
        own = f"{_counted(self.threads)}: 1.00"
        others = [
            f"{_counted(count)}: {speed:.2f} of its speed" for count, speed in self.speeds if count != self.threads
        ]
        return ", ".join((own, *others, f"measured on {self.day}"))

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return {"threads": self.threads, "speeds": [list(pair) for pair in self.speeds], "day": self.day}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        speeds = tuple((int(count), float(speed)) for count, speed in kept["speeds"])
        choice = cls(int(kept["threads"]), speeds, date.fromisoformat(kept["day"]).isoformat())
        if choice.threads < 1:
            raise ValueError(f"{choice.threads} threads")
        return choice


def read_choices(kept: Mapping[str, Any]) -> dict[str, Choice]:
    """The choices of a record by role, target and draft. Raises ValueError for anything else."""
    try:
        found = {role: kept.get(role) for role in ("target", "draft")}
        return {role: Choice.from_json(choice) for role, choice in found.items() if choice is not None}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a choice of threads: {error}") from error


def _counted(threads: int) -> str:
    return f"{threads} thread" if threads == 1 else f"{threads} threads"
