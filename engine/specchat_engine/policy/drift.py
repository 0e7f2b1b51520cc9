"""Notices that a drafter is accepted less often than it used to be: another target version, another subject.

For each drafter and kind of text two shares of accepted tokens are kept: one follows slowly, the other quickly. A drop
counts if it is large and chance does not explain it. It is reported once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

_SLOW, _QUICK = 0.999, 0.98
"""How much older tokens count with each further one: about the last thousand, and the last fifty."""

_KNOWN, _RECENT = 300.0, 40.0
"""This many tokens must be remembered."""

_DROP, _DEVIATIONS = 0.15, 4.0
"""A drop counts from this share on, if chance deviates less."""


@dataclass(frozen=True, slots=True)
class Drop:
    """A drafter's share of accepted tokens on a kind of text, as it was and as it is."""

    kind: str
    drafter: str
    usual: float
    recent: float

    def __str__(self) -> str:
        """What it means, and what to do."""
        return (
            f"The guesses of the drafter {self.drafter!r} on {self.kind} are accepted less often than they used to be: "
            f"α {self.recent:.2f}, usually {self.usual:.2f}. Train it on newer texts, choose another, or use lookup."
        )


class Drift:
    """The shares, and which drops were reported already."""

    def __init__(self) -> None:
        self._usual: dict[tuple[str, str], tuple[float, float]] = {}
        self._recent: dict[tuple[str, str], tuple[float, float]] = {}
        self._reported: set[tuple[str, str]] = set()

    def observe(self, kind: str, drafter: str, accepted: int, compared: int) -> None:
        """Learns how many of the compared tokens of a draft were accepted."""
        key = kind, drafter
        for shares, fade in ((self._usual, _SLOW), (self._recent, _QUICK)):
            known, tested = shares.get(key, (0.0, 0.0))
            decay = fade**compared
            shares[key] = decay * known + accepted, decay * tested + compared

    def drops(self) -> list[Drop]:
        """The drops that were not reported yet."""
        drops = []
        for key, (accepted, tested) in self._usual.items():
            now, seen = self._recent.get(key, (0.0, 0.0))
            if key in self._reported or tested < _KNOWN or seen < _RECENT:
                continue
            usual, recent = accepted / tested, now / seen
            chance = sqrt(max(usual * (1 - usual), 0.01) / seen)
            if recent < usual - max(_DROP, _DEVIATIONS * chance):
                self._reported.add(key)
                drops.append(Drop(*key, usual, recent))
        return drops

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """What to keep for the next start: how it usually is."""
        record: dict[str, dict[str, list[float]]] = {}
        for (kind, drafter), (accepted, tested) in self._usual.items():
            record.setdefault(kind, {})[drafter] = [round(accepted, 3), round(tested, 3)]
        return record

    def take(self, record: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises TypeError, ValueError or AttributeError for anything else."""
        self._usual = {}
        for kind, drafters in record.items():
            for drafter, (accepted, tested) in drafters.items():
                if not 0 <= float(accepted) <= float(tested) < inf:
                    raise ValueError("these are not shares of accepted tokens")
                self._usual[str(kind), str(drafter)] = float(accepted), float(tested)
