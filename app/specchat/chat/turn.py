"""One turn as it grows: a model that takes rounds and gives the snapshots that widgets draw."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from specchat.chat.turn_view import TurnView
from specchat.stats.break_even import break_even
from specchat.stats.explain import Shown
from specchat.stats.summary import Figures, Summary
from specchat.terminal.palette import word_of
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import measured_speedup
from specchat_engine.model_info import MemoryUse

RIBBON_ROUNDS, _RIBBON_STEP = 192, 64
"""So many words the ribbon has at most; then the oldest go all at once, so that the others seldom move."""

HISTORY_BARS = 64
RECENT_ROUNDS = 24
"""Rounds over which the live tokens/s are smoothed."""

NO_COSTS = MeasuredCosts()


class TurnModel:
    """Takes the rounds of one turn and gives snapshots; each call costs the same however long the turn is.

    `plain_ms` is the time of a plain pass that the turn before measured: with it the speed-up shows while it streams.
    `costs` are those that the turn before told of, which the gauge needs; `memory` is what the pair takes.
    """

    __slots__ = (
        "_bars",
        "_by_source",
        "_costs",
        "_k",
        "_k_bars",
        "_k_most",
        "_memory",
        "_new",
        "_plain_ms",
        "_reason",
        "_recent",
        "_ribbon",
    )

    def __init__(
        self,
        plain_ms: float | None = None,
        costs: MeasuredCosts = NO_COSTS,
        memory: MemoryUse | None = None,
    ) -> None:
        self._plain_ms = plain_ms
        self._costs = costs
        self._memory = memory
        self._by_source: dict[str, Figures] = {}
        self._new: list[Round] = []
        self._ribbon: list[str] = []
        self._recent: deque[tuple[int, float]] = deque(maxlen=RECENT_ROUNDS)
        self._bars = _Bars()
        self._k_bars = _Bars()
        self._k = 0
        self._k_most = 0
        self._reason = ""

    @property
    def num_tokens(self) -> int:
        """Tokens so far."""
        return sum(figures.num_tokens for figures in self._figures().values())

    def observe(self, rounds: Iterable[Round]) -> None:
        """Counts rounds, in order."""
        batch = list(rounds)
        for event in batch:
            self._k, self._reason = event.k, event.reason
            self._k_most = max(self._k_most, event.k)
            milliseconds = event.ms.total
            self._recent.append((event.num_emitted, milliseconds))
            self._bars.add(event.num_emitted * 1000, milliseconds)
            self._k_bars.add(event.k, 1)
            self._ribbon.append(word_of(event))
        while len(self._ribbon) > RIBBON_ROUNDS:
            del self._ribbon[:_RIBBON_STEP]
        self._new += batch

    def view(self) -> TurnView:
        """The turn so far, its tokens/s smoothed over the latest rounds."""
        tokens = sum(count for count, _ in self._recent)
        milliseconds = sum(spent for _, spent in self._recent)
        speedup = measured_speedup(self._plain_ms, self._total)
        return self._snapshot(tokens / milliseconds * 1000 if milliseconds else None, speedup, final=False)

    def final_view(self, totals: Mapping[str, Any] | None, costs: MeasuredCosts | None = None) -> TurnView:
        """The whole turn, exact: tokens/s and speed-up from the engine's own totals where it sent them."""
        self._costs = self._costs if costs is None else costs
        if totals is None:
            return self._snapshot(self._total.tokens_per_second, None, final=True)
        return self._snapshot(totals["tokens_per_second"], totals["speedup"], final=True)

    def _figures(self) -> dict[str, Figures]:
        """The figures by source; rounds are added up when somebody asks, many at a time."""
        for source, group in groupby(sorted(self._new, key=_source), key=_source):
            self._by_source[source] = self._by_source.get(source, Figures()) + Figures.of(list(group))
        self._new.clear()
        return self._by_source

    @property
    def _total(self) -> Figures:
        return sum(self._figures().values(), Figures())

    def _snapshot(self, tokens_per_second: float | None, speedup: float | None, *, final: bool) -> TurnView:
        total = self._total
        shares = total.shares
        drafts = total.num_drafts or 1
        summary = Summary(
            turns=1,
            total=total,
            by_source=dict(self._figures()),
            plain_ms=speedup * total.decode_ms if speedup else 0.0,
            against_ms=total.decode_ms if speedup else 0.0,
        )
        sources = {name: figures.num_drafts for name, figures in self._figures().items() if figures.num_drafts}
        return TurnView(
            num_tokens=total.num_tokens,
            num_rounds=total.num_rounds,
            num_draft_tokens=total.num_draft_tokens,
            tokens_per_second=tokens_per_second,
            speedup=speedup,
            acceptance_rate=total.acceptance_rate,
            alpha=total.alpha,
            block_efficiency=total.block_efficiency,
            k=self._k,
            k_most=self._k_most,
            reason=self._reason,
            by_position=tuple(hit / tried for hit, tried in zip(total.accepted_at, total.drafted_at, strict=True)),
            draft_share=shares.get("draft", 0.0),
            verify_share=shares.get("verify", 0.0),
            rollback_share=shares.get("rollback", 0.0),
            other_share=shares.get("other", 0.0),
            sources=tuple((name, count / drafts) for name, count in sorted(sources.items(), key=_most)),
            ribbon=tuple(self._ribbon),
            history=self._bars.values(),
            k_history=self._k_bars.values(),
            shown=Shown(summary, self._k, self._reason, break_even(total, self._costs), self._memory),
            final=final,
        )


def _source(event: Round) -> str:
    return event.source


def _most(source: tuple[str, int]) -> int:
    return -source[1]


class _Bars:
    """A ratio over a turn of unknown length: when there are too many bars, two become one."""

    __slots__ = ("_bars", "_filled", "_rounds_a_bar")

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
