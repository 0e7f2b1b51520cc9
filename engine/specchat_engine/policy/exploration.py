"""How much time may be spent on drafts that promise no gain: a budget for each kind of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

_MOST, _PER_ANSWER, _PER_ROUND = 5.0, 1.0, 0.008
"""The budget at first and at most, and what each answer and each round add to it. The unit is one plain round."""


class ExplorationBudget:
    """How many plain rounds exploration may still lose, by kind of text. Drafts that gain add to it."""

    def __init__(self) -> None:
        self._left: dict[str, float] = {}

    def left(self, kind: str) -> float:
        """What may be lost on this kind of text; negative after a loss that was larger than expected."""
        return self._left.get(kind, _MOST)

    def credit(self, kind: str, rounds: float) -> None:
        """Adds plain rounds, or takes them away if `rounds` is negative."""
        self._left[kind] = max(-_MOST, min(_MOST, self.left(kind) + rounds))

    def begin_answer(self, kind: str) -> None:
        """Adds what each answer adds."""
        self.credit(kind, _PER_ANSWER)

    def add_round(self, kind: str) -> None:
        """Adds what each round without a costly draft adds."""
        self.credit(kind, _PER_ROUND)

    def to_json(self) -> dict[str, float]:
        """What to keep for the next start."""
        return {kind: round(left, 3) for kind, left in self._left.items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Reads what `to_json` wrote. Raises TypeError, ValueError or AttributeError for anything else."""
        budget = cls()
        for kind, left in kept.items():
            budget._left[str(kind)] = max(-_MOST, min(_MOST, float(left)))
        return budget
