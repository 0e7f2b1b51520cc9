"""The results of an evaluation: shares of right answers with confidence intervals, and the draft's acceptance."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """How many of `count` answers were right."""

    measure: str
    right: int
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of Wilson (1927)."""
        z = 1.96
        share = self.right / self.count
        middle = share + z * z / (2 * self.count)
        spread = z * math.sqrt(share * (1 - share) / self.count + z * z / (4 * self.count**2))
        scale = 1 + z * z / self.count
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The outcomes of the drafted tokens and the rounds, for prompts of one kind at one temperature."""

    kind: str
    temperature: float
    accepted: int
    rejected: int
    emitted: int
    passes: int

    @property
    def alpha(self) -> float:
        """The share of compared drafted tokens that were accepted: accepted / (accepted + rejected)."""
        return self.accepted / max(1, self.accepted + self.rejected)

    @property
    def block_efficiency(self) -> float:
        """Emitted tokens per target pass."""
        return self.emitted / max(1, self.passes)


@dataclass(frozen=True, slots=True)
class Results:
    """Everything that the model card reports."""

    shares: tuple[Share, ...]
    acceptance: tuple[Acceptance, ...]
