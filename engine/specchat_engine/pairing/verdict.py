"""The findings on a pair of models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from specchat_engine.memory.placement import Placement


class Grade(StrEnum):
    """How much a finding matters."""

    OK = "ok"
    WARNING = "warning"
    BLOCKER = "blocker"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: its topic, what was found, and what to do about it, empty if nothing."""

    grade: Grade
    topic: str
    finding: str
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """The finding with its remedy."""
        return f"{self.finding}; {self.remedy}" if self.remedy else self.finding


@dataclass(frozen=True, slots=True)
class Verdict:
    """All findings. `same_tokens` says that ids mean the same in both, so that drafts need no translation.

    `speedup` is the expected speed-up against plain decoding, `cost` a draft step in target steps; None if unknown.
    """

    lines: tuple[Finding, ...]
    same_tokens: bool
    placement: Placement | None
    cost: float | None
    speedup: float | None

    @property
    def grade(self) -> Grade:
        """The worst grade of all findings."""
        grades = {line.grade for line in self.lines}
        return next((grade for grade in (Grade.BLOCKER, Grade.WARNING) if grade in grades), Grade.OK)

    @property
    def fits(self) -> bool:
        """Whether nothing prevents running the pair."""
        return self.grade is not Grade.BLOCKER
