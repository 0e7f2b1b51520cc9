"""One turn as the screen sees it: a model that takes rounds, and the frozen snapshot that widgets draw."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specchat.palette import LOOKS
from specchat_engine.rounds import Round
from specchat_engine.stats import TurnStats

RIBBON_ROUNDS = 64
HISTORY_BARS = 64
RECENT_ROUNDS = 24
"""Rounds over which the live tokens/s are smoothed."""


@dataclass(frozen=True, slots=True)
class TurnView:
    """The figures of one turn at one moment; shares lie between 0 and 1, None where nothing was measured yet.

    `k` and `reason` are the last round's, `k_most` is the largest k of the turn.
    `by_position[i]` is the share accepted of the tokens drafted at position i. `ribbon` holds the latest rounds as
    words of `●○·◆`, `history` tokens/s over the whole turn in at most 64 bars. `final`: the turn is over.
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
    final: bool = False

    @property
    def drafted(self) -> bool:
        """Whether anything was drafted in this turn."""
        return self.num_draft_tokens > 0

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


def word_of(event: Round) -> str:
    """A round as a word of the ribbon: `●●○·◆`."""
    return "".join(LOOKS[token.outcome].glyph for token in event.drafted) + LOOKS[event.token.kind].glyph


class TurnModel:
    """Takes the rounds of one turn and gives snapshots; each call costs the same however long the turn is.

    `plain_ms` is the time of a plain pass that the turn before measured: with it the speed-up shows while it streams.
    """

    __slots__ = ("_bars", "_drafted_at", "_k", "_k_most", "_reason", "_recent", "_ribbon", "_sources", "stats")

    def __init__(self, plain_ms: float | None = None) -> None:
        self.stats = TurnStats(plain_ms=plain_ms)
        self._drafted_at: list[int] = []
        self._sources: Counter[str] = Counter()
        self._ribbon: deque[str] = deque(maxlen=RIBBON_ROUNDS)
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._bars = _Bars()
        self._k = 0
        self._k_most = 0
        self._reason = ""

    def observe(self, rounds: Iterable[Round]) -> None:
        """Counts rounds, in order."""
        for event in rounds:
            self.stats.observe(event)
            self._k, self._reason = event.k, event.reason
            self._k_most = max(self._k_most, event.k)
            milliseconds = event.ms.draft + event.ms.verify + event.ms.rollback + event.ms.other
            self._recent.append((event.num_emitted, milliseconds))
            self._bars.add(event.num_emitted, milliseconds)
            self._ribbon.append(word_of(event))
            if event.drafted:
                self._sources[event.source] += 1
            for position in range(len(event.drafted)):
                if position == len(self._drafted_at):
                    self._drafted_at.append(0)
                self._drafted_at[position] += 1

    def view(self) -> TurnView:
        """The turn so far, its tokens/s smoothed over the latest rounds."""
        tokens = sum(count for count, _ in self._recent)
        milliseconds = sum(spent for _, spent in self._recent)
        return self._snapshot(tokens / milliseconds * 1000 if milliseconds else None, self.stats.speedup, final=False)

    def final_view(self, totals: Mapping[str, Any] | None) -> TurnView:
        """The whole turn, exact: tokens/s and speed-up from the engine's own totals where it sent them."""
        if totals is None:
            return self._snapshot(self.stats.tokens_per_second, None, final=True)
        return self._snapshot(totals["tokens_per_second"], totals["speedup"], final=True)

    def _snapshot(self, tokens_per_second: float | None, speedup: float | None, *, final: bool) -> TurnView:
        stats = self.stats
        spent = stats.decode_ms or 1.0
        drafts = sum(self._sources.values()) or 1
        accepted = [*stats.num_accepted_tokens_per_pos]
        accepted += [0] * (len(self._drafted_at) - len(accepted))
        return TurnView(
            num_tokens=stats.num_tokens,
            num_rounds=stats.num_rounds,
            num_draft_tokens=stats.num_draft_tokens,
            tokens_per_second=tokens_per_second,
            speedup=speedup,
            acceptance_rate=stats.acceptance_rate,
            alpha=stats.alpha,
            block_efficiency=stats.block_efficiency,
            k=self._k,
            k_most=self._k_most,
            reason=self._reason,
            by_position=tuple(hit / tried for hit, tried in zip(accepted, self._drafted_at, strict=True)),
            draft_share=stats.draft_ms / spent,
            verify_share=stats.verify_ms / spent,
            rollback_share=stats.rollback_ms / spent,
            other_share=stats.other_ms / spent,
            sources=tuple((name, count / drafts) for name, count in self._sources.most_common()),
            ribbon=tuple(self._ribbon),
            history=self._bars.values(),
            final=final,
        )


class _Bars:
    """Tokens/s over a turn of unknown length: when there are too many bars, two become one."""

    __slots__ = ("_bars", "_filled", "_rounds_a_bar")

    def __init__(self) -> None:
        self._bars: list[tuple[int, float]] = []
        self._rounds_a_bar = 1
        self._filled = 0

    def add(self, tokens: int, milliseconds: float) -> None:
        if self._filled == 0:
            if len(self._bars) == HISTORY_BARS:
                pairs = zip(self._bars[::2], self._bars[1::2], strict=True)
                self._bars = [(left[0] + right[0], left[1] + right[1]) for left, right in pairs]
                self._rounds_a_bar *= 2
            self._bars.append((0, 0.0))
        so_far = self._bars[-1]
        self._bars[-1] = (so_far[0] + tokens, so_far[1] + milliseconds)
        self._filled = (self._filled + 1) % self._rounds_a_bar

    def values(self) -> tuple[float, ...]:
        return tuple(tokens / spent * 1000 if spent else 0.0 for tokens, spent in self._bars)
