"""One turn while it streams: a model that takes rounds, and the snapshots of it that widgets draw."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from specchat.stats.break_even import BreakEven, break_even
from specchat.stats.curve import expected_speedup
from specchat.stats.limits import limit
from specchat.stats.line import figures_line
from specchat.stats.summary import Figures, Summary, is_disturbed
from specchat.terminal.palette import word_of
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import Repetition
from specchat_engine.load_options import MemoryUse

RIBBON_ROUNDS, _RIBBON_STEP = 192, 64
"""The most words in the ribbon. When it is full, the oldest are dropped many at a time, so that it rarely shifts."""

HISTORY_BARS = 64
RECENT_ROUNDS = 24
"""The rounds over which the live tokens/s are averaged."""

NO_COSTS = MeasuredCosts()


@dataclass(frozen=True, slots=True)
class TurnView:
    """The figures of one turn at one moment: what the panel shows and explanations are made of.

    `k` and `reason` are the last round's; `limit` says what kept its draft from being longer, empty if that is not
    known. `break_even` and `memory` are None and `verifier` is empty if they are not known. `disturbed` says that other
    programs took much of the processors.

    The speed-up is known at the end of the turn; until then `expected` is a forecast of it. Both may be None. `k_most`
    is the largest k of the turn, `ribbon` the latest rounds as words such as `●○·◆`, `history` tokens/s over the whole
    turn in at most 64 bars, and `k_history` k in as many. `final` is True when the turn is over. `repeats` is how many
    tokens the answer repeats over and over.
    """

    summary: Summary = field(default_factory=Summary)
    k: int = 0
    reason: str = ""
    break_even: BreakEven | None = None
    memory: MemoryUse | None = None
    disturbed: bool = False
    verifier: str = ""
    limit: str = ""
    tokens_per_second: float | None = None
    expected: float | None = None
    k_most: int = 0
    ribbon: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    k_history: tuple[float, ...] = ()
    final: bool = False
    repeats: int = 0

    @classmethod
    def of(
        cls,
        rounds: Sequence[Round],
        stats: Mapping[str, Any] | None,
        memory: MemoryUse | None = None,
        *,
        verifier: str = "",
    ) -> TurnView:
        """The figures of a finished answer. `stats` is the object of that name in the trace's last line."""
        if not rounds:
            return cls(memory=memory)
        summary = Summary.of_turn(rounds, stats)
        return cls(
            summary,
            rounds[-1].k,
            rounds[-1].reason,
            break_even(summary.total, summary.speedup),
            memory,
            is_disturbed(stats),
            verifier,
            limit(rounds[-1]),
            summary.total.tokens_per_second,
            final=True,
        )

    @property
    def figures(self) -> Figures:
        """The counts and times of all rounds."""
        return self.summary.total

    @property
    def speedup(self) -> float | None:
        """The measured speed-up over plain decoding."""
        return self.summary.speedup

    @property
    def sources(self) -> tuple[tuple[str, float], ...]:
        """Each source's share of the drafts, the largest first."""
        drafts = {name: figures.num_drafts for name, figures in self.summary.by_source.items()}
        total = self.figures.num_drafts or 1
        ordered = sorted(drafts.items(), key=lambda source: -source[1])
        return tuple((name, count / total) for name, count in ordered if count)

    def line(self) -> str:
        """The line of figures under the answer; empty before the first round."""
        if not self.figures.num_rounds:
            return ""
        names = ("num_tokens", "num_draft_tokens", "acceptance_rate", "alpha", "block_efficiency")
        stats = {name: getattr(self.figures, name) for name in names}
        rates = {"tokens_per_second": self.tokens_per_second, "speedup": self.speedup}
        return figures_line(stats | rates | {"repeats": self.repeats})


class TurnModel:
    """Takes the rounds of one turn and gives snapshots.

    `costs` are those reported by the turn before, from which a speed-up is expected while the answer streams; `memory`
    is what the pair takes, `verifier` the rule in force.
    """

    def __init__(self, costs: MeasuredCosts = NO_COSTS, memory: MemoryUse | None = None, *, verifier: str = "") -> None:
        self._costs = costs
        self._verifier = verifier
        self._memory = memory
        self._by_source: dict[str, Figures] = {}
        self._widths: Counter[int] = Counter()
        self._ribbon: list[str] = []
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._bars = _Bars()
        self._k_bars = _Bars()
        self._k = 0
        self._k_most = 0
        self._reason = ""
        self._repetition = Repetition()

    @property
    def repeats(self) -> int:
        """How many tokens the answer repeats over and over, 0 if it does not."""
        return self._repetition.period

    @property
    def num_tokens(self) -> int:
        """Tokens so far."""
        return sum(figures.num_tokens for figures in self._by_source.values())

    def observe(self, rounds: Iterable[Round]) -> None:
        """Counts rounds, in order."""
        by_source: dict[str, list[Round]] = {}
        for event in rounds:
            self._k, self._reason = event.k, event.reason
            self._k_most = max(self._k_most, event.k)
            self._widths[len(event.drafted) + 1] += 1
            self._recent.append((event.num_emitted, event.ms.total))
            self._bars.add(event.num_emitted * 1000, event.ms.total)
            self._k_bars.add(event.k, 1)
            self._ribbon.append(word_of(event))
            self._repetition.observe(event)
            by_source.setdefault(event.source, []).append(event)
        while len(self._ribbon) > RIBBON_ROUNDS:
            del self._ribbon[:_RIBBON_STEP]
        for source, group in by_source.items():
            self._by_source[source] = self._by_source.get(source, Figures()) + Figures.of(group)

    def view(self) -> TurnView:
        """The turn so far, with tokens/s averaged over the latest rounds."""
        tokens = sum(count for count, _ in self._recent)
        milliseconds = sum(spent for _, spent in self._recent)
        total = self._total()
        speed = tokens / milliseconds * 1000 if milliseconds else None
        expected = expected_speedup(total, self._widths, self._costs)
        return self._snapshot(total, speed, None, expected=expected)

    def final_view(self, totals: Mapping[str, Any] | None) -> TurnView:
        """The whole turn, with tokens/s and speed-up from the engine's own totals where it sent them."""
        total = self._total()
        if totals is None:
            return replace(self._snapshot(total, total.tokens_per_second, None), final=True)
        view = self._snapshot(total, totals["tokens_per_second"], totals["speedup"])
        return replace(view, disturbed=is_disturbed(totals), final=True)

    def _total(self) -> Figures:
        return sum(self._by_source.values(), Figures())

    def _snapshot(
        self, total: Figures, tokens_per_second: float | None, speedup: float | None, expected: float | None = None
    ) -> TurnView:
        summary = Summary(
            turns=1,
            total=total,
            by_source=dict(self._by_source),
            plain_ms=speedup * total.decode_ms if speedup else 0.0,
            against_ms=total.decode_ms if speedup else 0.0,
        )
        return TurnView(
            summary,
            self._k,
            self._reason,
            break_even(total, speedup or expected),
            self._memory,
            verifier=self._verifier,
            tokens_per_second=tokens_per_second,
            expected=expected,
            k_most=self._k_most,
            ribbon=tuple(self._ribbon),
            history=self._bars.values(),
            k_history=self._k_bars.values(),
            repeats=self.repeats,
        )


class _Bars:
    """A ratio over a turn of unknown length. When there are too many bars, each two become one."""

    def __init__(self) -> None:
        self._bars: list[tuple[float, float]] = []
        self._rounds_a_bar = 1
        self._filled = 0

    def add(self, amount: float, of: float) -> None:
        if self._filled == 0:
            if len(self._bars) == HISTORY_BARS:
                pairs = zip(self._bars[::2], self._bars[1::2], strict=True)
                self._bars = [(left[0] + right[0], left[1] + right[1]) for left, right in pairs]
                self._rounds_a_bar *= 2
            self._bars.append((0, 0.0))
        so_far = self._bars[-1]
        self._bars[-1] = (so_far[0] + amount, so_far[1] + of)
        self._filled = (self._filled + 1) % self._rounds_a_bar

    def values(self) -> tuple[float, ...]:
        return tuple(amount / of if of else 0.0 for amount, of in self._bars)
