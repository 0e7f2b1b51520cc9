"""What a round can be made of, what is decided, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.early_stop import EarlyStop


@dataclass(frozen=True, slots=True)
class Situation:
    """What the next round can be made of: the drafters that may draft, and what each could do.

    `depth` is the length of the context, `longest` the most tokens a draft may have. `fixed`: it is to have as many.
    `opening`: the answer has only begun. `rested`: the models paused, so that times say nothing about other rounds.
    """

    depth: int
    longest: int
    prospects: Mapping[DrafterTraits, Prospect]
    fixed: bool = False
    opening: bool = False
    rested: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Who drafts, at most how many tokens, and why; nobody where `drafter` is None. `stop` ends the draft early."""

    drafter: DrafterTraits | None
    k: int
    reason: str
    stop: EarlyStop | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a round: how many tokens were drafted, accepted, compared and emitted, and its milliseconds.

    `matched` says of each drafter with a match which of the tokens it would have drafted were right, as far as the
    round tells, whoever drafted it.
    """

    drafted: int
    accepted: int
    compared: int
    emitted: int
    verify_ms: float
    draft_ms: float
    other_ms: float
    confidence: Sequence[float] = ()
    matched: Mapping[DrafterTraits, Sequence[bool]] = field(default_factory=dict)

    @property
    def milliseconds(self) -> float:
        """What the round took."""
        return self.verify_ms + self.draft_ms + self.other_ms
