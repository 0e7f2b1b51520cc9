"""At most one remark after a turn: advice if something can be gained, or a notice that α has fallen.

A cause is reported when it costs 6 % in two answers in a row, or 15 % in one: a few per cent in a single answer are
often chance. It is forgotten when it costs less than 3 %. The same cause is not repeated for eight answers unless it
costs twice as much by then. A notice needs a statistical test, so that chance alone rarely causes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import exp, lgamma
from typing import Any

from specchat.stats.curve import fitted
from specchat.stats.turn import TurnView
from specchat.stats.what_if import WhatIf, what_if
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings


class Cause(StrEnum):
    """Why an answer was slower than it could have been."""

    LENGTH = "k"
    LOW_ALPHA = "low α"
    TEMPERATURE = "temperature"
    LARGE_DRAFT = "large draft"
    COPIES = "copies"
    COLD = "cold start"
    OTHER = "time beside the passes"
    THREADS = "threads"


@dataclass(frozen=True)
class Answered:
    """A finished turn. `stats` is the trace's object of that name; `prompt` is all text that was sent.

    `drafters` and `k_max` are what the loaded pair supports. `threads` is the number that it computes with, `cores` the
    number that the machine has, and `earlier_turns` the number of earlier answers of this pair.
    """

    rounds: tuple[Round, ...]
    settings: Settings
    costs: MeasuredCosts
    stats: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
    drafters: tuple[str, ...] = ("none",)
    k_max: int = 32
    threads: int = 0
    cores: int = 0
    earlier_turns: int = 0

    @cached_property
    def view(self) -> TurnView:
        """Its figures."""
        return TurnView.of(self.rounds, self.stats)

    @cached_property
    def fitted_costs(self) -> MeasuredCosts:
        """The costs of passes, scaled to the speed of this turn."""
        return fitted(self.costs, self.rounds)

    @cached_property
    def prediction(self) -> WhatIf | None:
        """The predictions for other k; None if too little was measured, or if they would contradict what was."""
        speedup = self.view.speedup
        if speedup is None or self.view.disturbed:
            return None
        prediction = what_if(self.rounds, self.fitted_costs, self.settings.k, self.k_max, speedup=speedup)
        return prediction if prediction and prediction.fits else None


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of advice. `gain` is how much faster answers would be: 0.06 for 6 %.

    `remedy` returns improved settings. If no setting helps, `command` is what to type; both are empty if nothing has to
    be done. `why` explains in a few lines what was measured and computed.
    """

    cause: Cause
    sentence: str
    gain: float
    why: tuple[str, ...]
    remedy: Callable[[Settings], Settings] | None = None
    command: str = ""


WORTH, AT_ONCE, NOTHING = 0.06, 0.15, 0.03
_ANSWERS = 2
_SILENCE = 8
_WORSE = 2.0


@dataclass(frozen=True, slots=True)
class Reported:
    """When a cause was reported: the number of the answer, and the gain named then."""

    answer: int
    gain: float


@dataclass(frozen=True, slots=True)
class AdviceHistory:
    """What the advisor remembers of a conversation: the number of answers, in how many in a row each cause was worth
    reporting, and what it reported."""

    answers: int = 0
    seen: Mapping[Cause, int] = field(default_factory=dict)
    reported: Mapping[Cause, Reported] = field(default_factory=dict)


def advise(causes: Mapping[Cause, Advice], memory: AdviceHistory) -> tuple[Advice | None, AdviceHistory]:
    """The advice to give after a turn with these causes, or None, and what to remember."""
    answers = memory.answers + 1
    seen = {cause: _times_seen(causes.get(cause), memory.seen.get(cause, 0)) for cause in Cause}
    due = [
        advice
        for cause, advice in causes.items()
        if _worth_reporting(advice, seen[cause]) and not _silent(advice, memory.reported.get(cause), answers)
    ]
    chosen = max(due, key=lambda advice: advice.gain, default=None)
    reported = {**memory.reported, chosen.cause: Reported(answers, chosen.gain)} if chosen else memory.reported
    return chosen, AdviceHistory(answers, {cause: times for cause, times in seen.items() if times}, reported)


def _times_seen(advice: Advice | None, before: int) -> int:
    """In how many answers a cause was seen. A gain from 3 % to 6 % leaves the count unchanged."""
    if advice is None or advice.gain < NOTHING:
        return 0
    return before + 1 if advice.gain >= WORTH else before


def _worth_reporting(advice: Advice, seen: int) -> bool:
    return advice.gain >= AT_ONCE or (advice.gain >= WORTH and seen >= _ANSWERS)


def _silent(advice: Advice, reported: Reported | None, answers: int) -> bool:
    return reported is not None and answers - reported.answer <= _SILENCE and advice.gain < _WORSE * reported.gain


CHANCE = 0.002
"""The highest probability of a notice while nothing has changed."""

TURNS, TOKENS = 5, 24
"""The fewest turns of a record, and compared tokens of a turn, for a test."""

_DROP = 0.05
"""A smaller drop may be significant in a long answer, but nobody would notice it."""

_SPREAD, _SPREAD_TURNS, _LEAST_SPREAD = 0.08, 4, 0.03
"""The prior spread of α between texts, the number of turns that it counts for, and the lowest spread assumed."""


@dataclass(frozen=True, slots=True)
class AlphaRecord:
    """α over the turns of a pair: their number, their mean, and the sum of their squared deviations."""

    turns: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, turns: Iterable[tuple[int, int]]) -> AlphaRecord:
        """The record of turns, each given as (compared tokens, accepted tokens).

        Turns with too few compared tokens do not count.
        """
        alphas = [cls(1, accepted / tested) for tested, accepted in turns if tested >= TOKENS]
        return sum(alphas, cls())

    def __add__(self, other: AlphaRecord) -> AlphaRecord:
        """Both together. Source: Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm", 1979."""
        turns = self.turns + other.turns
        if not turns:
            return self
        apart = other.mean - self.mean
        return AlphaRecord(
            turns,
            self.mean + apart * other.turns / turns,
            self.squares + other.squares + apart * apart * self.turns * other.turns / turns,
        )

    @property
    def spread(self) -> float:
        """The standard deviation of α between turns. It includes chance within turns, which makes notices rarer."""
        variance = (self.squares + _SPREAD_TURNS * _SPREAD**2) / (max(self.turns - 1, 0) + _SPREAD_TURNS)
        return float(max(variance**0.5, _LEAST_SPREAD))


def fallen_alpha(tested: int, accepted: int, record: AlphaRecord) -> str | None:
    """The notice after a turn with so few accepted tokens, or None if that may be chance.

    The number of accepted tokens is tested against a beta-binomial distribution: a turn's α varies around the mean of
    the record as in earlier turns, the mean itself is uncertain, and tokens within a turn vary by chance.
    """
    if record.turns < TURNS or tested < TOKENS or record.mean - accepted / tested < _DROP:
        return None
    if at_most(accepted, tested, record.mean, record.spread * (1 + 1 / record.turns) ** 0.5) > CHANCE:
        return None
    return (
        f"α {accepted / tested:.2f} in this answer; the mean of this pair is {record.mean:.2f} "
        f"(over {record.turns} answers), and chance is an unlikely explanation"
    )


def at_most(hits: int, trials: int, mean: float, spread: float) -> float:
    """P[X ≤ hits] for a beta-binomial count: the mean and standard deviation are those of the beta distribution."""
    mean = min(max(mean, 1e-3), 1 - 1e-3)
    weight = max(mean * (1 - mean) / spread**2 - 1, 1e-3)
    a, b = mean * weight, (1 - mean) * weight
    base = lgamma(trials + 1) + lgamma(weight) - lgamma(a) - lgamma(b) - lgamma(trials + weight)
    return sum(
        exp(base + lgamma(x + a) - lgamma(x + 1) + lgamma(trials - x + b) - lgamma(trials - x + 1))
        for x in range(hits + 1)
    )
