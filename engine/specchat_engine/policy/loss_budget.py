"""How much time drafts may lose against plain decoding: a budget for each kind of text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FIRST, _LEAST, _PER_ROUND = 1.0, -5.0, 0.015
"""The budget at first and at least, and what a round adds. The unit is one plain round."""


class LossBudget:
    """How many plain rounds drafts may still lose, by kind of text; at most `most`. What drafts gain is added.

    Nobody knows how good the drafts for a text are before some were verified. With a budget, an answer with a pair that
    was never seen takes little more time than plain decoding, and a draft that has gained much may also lose much.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._left: dict[str, float] = {}

    def left(self, kind: str) -> float:
        """What may be lost on this kind of text; negative after a loss that was larger than expected."""
        return self._left.get(kind, _FIRST)

    def credit(self, kind: str, rounds: float) -> None:
        """Adds plain rounds, or takes them away if `rounds` is negative."""
        self._left[kind] = max(_LEAST, min(self._most, self.left(kind) + rounds))

    def add_round(self, kind: str) -> None:
        """Adds the little that may be lost in every round."""
        self.credit(kind, _PER_ROUND)

    def to_json(self) -> dict[str, float]:
        """What to keep for the next start."""
        return {kind: round(left, 3) for kind, left in self._left.items()}

    def take(self, kept: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises TypeError, ValueError or AttributeError for anything else."""
        self._left = {str(kind): max(_LEAST, min(self._most, float(left))) for kind, left in kept.items()}
