"""What drafters really brought: tokens for the time of a plain round."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, log, sqrt
from typing import Any

_WEIGHT, _FADE = 10.0, 0.98
"""The weight of an expectation, in plain rounds, and how much older rounds count."""

_TRIED, _LOST = 8.0, 5.0
"""A drafter was tried enough once its rounds emitted so many tokens, and lost so many plain rounds. In a simulation of
60 rounds, one in forty drafters that gain 1.25 ever loses so much by chance, and nearly all that gain 0.8."""

_SPREAD = 1.5
"""How far the gain that a time of one plain round shows may lie from the usual one."""


class TrackRecord:
    """How many plain rounds each drafter's rounds took, and how many tokens they emitted, by kind of text."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[float, float]] = {}

    def observe(self, kind: str, drafter: str, plain_rounds: float, emitted: int) -> None:
        """Learns what a round with a draft took and brought."""
        time, tokens = self._sums.get((kind, drafter), (0.0, 0.0))
        self._sums[kind, drafter] = _FADE * time + plain_rounds, _FADE * tokens + emitted

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """What to keep for the next start."""
        kept: dict[str, dict[str, list[float]]] = {}
        for (kind, drafter), (time, tokens) in self._sums.items():
            kept.setdefault(kind, {})[drafter] = [round(time, 3), round(tokens, 3)]
        return kept

    def take(self, kept: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises TypeError, ValueError or AttributeError for anything else."""
        self._sums = {}
        for kind, drafters in kept.items():
            for drafter, (time, tokens) in drafters.items():
                if not (0 <= float(time) < inf and 0 <= float(tokens) < inf):
                    raise ValueError("these are no rounds and tokens")
                self._sums[str(kind), str(drafter)] = float(time), float(tokens)

    def gain(self, kind: str, drafter: str, expected: float) -> float:
        """The gain over plain decoding: the expected one for a new drafter, more and more what it really was."""
        time, tokens = self._sums.get((kind, drafter), (0.0, 0.0))
        return (tokens + _WEIGHT * expected) / (time + _WEIGHT)

    def lost(self, drafter: str) -> float:
        """How many plain rounds a drafter has lost that was tried enough and gained on no kind of text; else 0."""
        sums = [seen for (_, name), seen in self._sums.items() if name == drafter]
        emitted = sum(tokens for _, tokens in sums)
        lost = sum(time for time, _ in sums) - emitted
        gained = any(tokens > time for time, tokens in sums)
        return lost if emitted >= _TRIED and lost >= _LOST and not gained else 0.0

    def hope(self, kind: str, drafter: str, expected: float) -> float:
        """What the gain may turn out to be: the less of it was seen, and the more of others, the more.

        Source: UCB1 by Auer, Cesa-Bianchi, Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", 2002.
        """
        time, _ = self._sums.get((kind, drafter), (0.0, 0.0))
        total = sum(others for (text, _), (others, _) in self._sums.items() if text == kind)
        return self.gain(kind, drafter, expected) + _SPREAD * sqrt(log(total + 1) / (time + 1))
