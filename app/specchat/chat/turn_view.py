"""One turn as the screen sees it, at one moment."""

from __future__ import annotations

from typing import NamedTuple

from specchat.stats.explain import Shown
from specchat.stats.summary import Summary
from specchat_engine.model_info import MemoryUse


class TurnView(NamedTuple):
    """The figures of one turn at one moment; shares lie between 0 and 1, None where nothing was measured yet.

    `k` and `reason` are the last round's, `k_most` is the largest k of the turn.
    `by_position[i]` is the share accepted of the tokens drafted at position i. `ribbon` holds the latest rounds as
    words of `●○·◆`, `history` tokens/s over the whole turn in at most 64 bars, `k_history` k in as many. `shown` is
    what the figures are explained by. `final`: the turn is over.
    """

    num_tokens: int = 0
    num_rounds: int = 0
    num_draft_tokens: int = 0
    tokens_per_second: float | None = None
    speedup: float | None = None
    acceptance_rate: float | None = None
    alpha: float | None = None
    block_efficiency: float | None = None
    k: int = 0
    k_most: int = 0
    reason: str = ""
    by_position: tuple[float, ...] = ()
    draft_share: float = 0.0
    verify_share: float = 0.0
    rollback_share: float = 0.0
    other_share: float = 0.0
    sources: tuple[tuple[str, float], ...] = ()
    ribbon: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    k_history: tuple[float, ...] = ()
    shown: Shown = Shown(Summary())
    final: bool = False

    @classmethod
    def before(cls, memory: MemoryUse | None) -> TurnView:
        """What there is before the first turn of a pair."""
        return cls(shown=Shown(Summary(), memory=memory))

    @property
    def drafted(self) -> bool:
        """Whether anything was drafted in this turn."""
        return self.num_draft_tokens > 0

    @property
    def over_the_turn(self) -> float | None:
        """Tokens/s since the turn began."""
        return self.shown.figures.tokens_per_second

    def summary(self) -> str:
        """The turn in one line, as it stands under the answer; empty before the first round."""
        if not self.num_rounds:
            return ""
        parts = [f"{self.tokens_per_second:.0f} tok/s" if self.tokens_per_second else f"{self.num_tokens} tokens"]
        if self.speedup is not None:
            parts.append(f"{self.speedup:.2f} × plain")
        if self.acceptance_rate is not None:
            parts.append(f"accepted {self.acceptance_rate:.0%}".replace("%", " %"))
        if self.alpha is not None:
            parts.append(f"α {self.alpha:.2f}")
        if self.block_efficiency is not None and self.drafted:
            parts.append(f"τ {self.block_efficiency:.1f}")
        return " · ".join(parts)
