"""What turns did, counted, so that it adds up over turns. Counters carry the trace's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Counters:
    """The sums of a turn, or of many.

    `compared_ms` is the part of `decode_ms` of which it is known what plain decoding would have taken, `plain_ms`.
    """

    num_turns: int = 0
    num_tokens: int = 0
    num_rounds: int = 0
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0
    num_rejected_tokens: int = 0
    decode_ms: float = 0.0
    compared_ms: float = 0.0
    plain_ms: float = 0.0

    @classmethod
    def of_turn(cls, stats: Mapping[str, Any]) -> Self:
        """What the statistics of one turn, or of one kind of content in it, add: a trace's last line has them.

        `num_rejected_tokens` and `decode_ms` are taken where they stand, else worked out from `alpha` and the times.
        """
        times = (stats.get(name) or 0.0 for name in ("draft_ms", "verify_ms", "rollback_ms", "other_ms"))
        decode_ms = float(stats.get("decode_ms") or sum(times))
        speedup = stats.get("speedup")
        return cls(
            num_turns=1,
            num_tokens=stats.get("num_tokens") or 0,
            num_rounds=stats.get("num_rounds") or 0,
            num_draft_tokens=stats.get("num_draft_tokens") or 0,
            num_accepted_tokens=stats.get("num_accepted_tokens") or 0,
            num_rejected_tokens=_rejected(stats),
            decode_ms=decode_ms,
            compared_ms=0.0 if speedup is None else decode_ms,
            plain_ms=0.0 if speedup is None else speedup * decode_ms,
        )

    def __add__(self, other: Counters) -> Counters:
        return Counters(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / drafted; None where nothing was drafted."""
        return self.num_accepted_tokens / self.num_draft_tokens if self.num_draft_tokens else None

    @property
    def num_tested_tokens(self) -> int:
        """Drafted tokens that were compared: accepted or rejected, not discarded."""
        return self.num_accepted_tokens + self.num_rejected_tokens

    @property
    def alpha(self) -> float | None:
        """Accepted / (accepted + rejected); None where nothing was tested."""
        return self.num_accepted_tokens / self.num_tested_tokens if self.num_tested_tokens else None

    @property
    def block_efficiency(self) -> float | None:
        """τ: emitted tokens / target passes."""
        return self.num_tokens / self.num_rounds if self.num_rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Emitted tokens / the time of decoding."""
        return self.num_tokens / self.decode_ms * 1000 if self.decode_ms else None

    @property
    def speedup(self) -> float | None:
        """The time that plain decoding would have taken / the time taken, over the turns where both are known."""
        return self.plain_ms / self.compared_ms if self.compared_ms else None


def _rejected(stats: Mapping[str, Any]) -> int:
    """A trace's last line has no count of them, but α, which is accepted / (accepted + rejected)."""
    if (given := stats.get("num_rejected_tokens")) is not None:
        return int(given)
    accepted, alpha = stats.get("num_accepted_tokens") or 0, stats.get("alpha")
    if alpha is None:
        return 0
    # Where nothing was accepted, every draft failed at its first token.
    return round(accepted / alpha - accepted) if alpha else int(stats.get("num_drafts") or 0)
