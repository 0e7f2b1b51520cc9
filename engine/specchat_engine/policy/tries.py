"""What trying a draft model may still cost that promises no gain, on one kind of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 5.0
"""The plain rounds that tries may cost before anything is known; it is never more, nor ever further below 0. A first
draft that fails says little, and a draft model that is given up by it is missed in many answers."""

_EACH, _SHARE = 1.0, 0.008
"""What an answer adds to that, and each round without the draft model. Behind n answers in a row that drafts lost time
in it is 1 / (n + 1) of that: that the next one differs has a chance of about 1 / (n + 2), by Laplace's rule of
succession."""

_AT_LAST = 256
"""After so many rounds without it the draft model is tried again whatever that costs."""


@dataclass(slots=True)
class Tries:
    """Of a kind of text: the plain rounds that may still be lost by tries, and the rounds since the draft model's last.

    Whatever the draft model does changes the `budget` by what it gains or loses against plain rounds: a try that
    gains may be followed by the next at once. `in_vain` counts the answers before that drafts lost time in, one behind
    the other; `gained` is what they gained in this one, in plain rounds. `rehearsed`: the draft model has gone through
    the last answer, so that in the next one it is `known` what a try would tell.
    """

    budget: float = _MOST
    idle: int = 0
    gained: float = 0.0
    in_vain: int = 0
    rehearsed: bool = False
    known: bool = False

    @property
    def due(self) -> bool:
        """Whether the draft model was not used for so long that it is tried whatever that costs."""
        return self.idle >= _AT_LAST

    def begin(self) -> None:
        """Another answer begins."""
        if self.gained:
            self.in_vain = self.in_vain + 1 if self.gained < 0 else 0
            self.gained = 0.0
        self.known, self.rehearsed = self.rehearsed, False
        self._earn(_EACH / (1 + self.in_vain))

    def rested(self, rounds: int) -> None:
        """So many rounds went by without the draft model."""
        self.idle += rounds
        self._earn(_SHARE * rounds / (1 + self.in_vain))

    def used(self, gain: float) -> None:
        """The draft model drafted, and gained so many plain rounds, or lost them."""
        self.idle = 0
        self._count(gain)

    def spent(self, rounds: float) -> None:
        """It took so many plain rounds' time without giving a token."""
        self._count(-rounds)

    def affords(self, cost: float) -> bool:
        """Whether a try may lose so many plain rounds."""
        return self.due or (cost <= self.budget and not self.known)

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time."""
        return {"budget": round(self.budget, 3), "in_vain": self.in_vain + (self.gained < 0)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Tries:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        budget, in_vain = float(kept["budget"]), int(kept["in_vain"])
        if not (-_MOST <= budget <= _MOST and in_vain >= 0):
            raise ValueError(f"{budget} plain rounds behind {in_vain} answers are no budget of tries")
        return cls(budget, in_vain=in_vain)

    def _count(self, gain: float) -> None:
        self.gained += gain
        self._earn(gain)

    def _earn(self, rounds: float) -> None:
        self.budget = max(-_MOST, min(_MOST, self.budget + rounds))
