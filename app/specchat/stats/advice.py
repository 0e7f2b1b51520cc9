"""The input of the advisor, an answered turn, and its output, a piece of advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from specchat.stats.curve import BreakEven, break_even, fitted
from specchat.stats.summary import Figures, Summary
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
    def summary(self) -> Summary:
        """Its statistics."""
        return Summary.of_turn(self.rounds, self.stats)

    @cached_property
    def fitted_costs(self) -> MeasuredCosts:
        """The costs of passes, scaled to the speed of this turn."""
        return fitted(self.costs, self.rounds)

    @cached_property
    def prediction(self) -> WhatIf | None:
        """The predictions for other k; None if too little was measured."""
        return what_if(self.rounds, self.fitted_costs, self.settings.k, self.k_max)

    @cached_property
    def break_even(self) -> BreakEven | None:
        """The α that its drafts needed to pay off; None if too little was measured."""
        return break_even(self.figures, self.fitted_costs)

    @property
    def figures(self) -> Figures:
        """The figures of all its rounds."""
        return self.summary.total


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
