"""Statistics of a turn, a session or a pair, summed from rounds.

Counters and times add up exactly. Percentiles come from `Spread`, which also adds up exactly and gives percentiles
within 1 %. `specchat_engine.codec` turns them into JSON, to be stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from specchat.stats.kinds import kinds_of_rounds
from specchat.stats.spread import Spread
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import Timed, TurnStats

UNDISTURBED = 0.85
"""Threads that got less than this share of the processor time that they wanted were disturbed by other programs."""


def is_disturbed(stats: Mapping[str, Any] | None) -> bool:
    """True if other programs took so much of the processors during an answer that its times mean little.

    `stats` is the object of that name in the last line of its trace.
    """
    share = (stats or {}).get("cpu_share")
    return share is not None and share < UNDISTURBED


@dataclass(frozen=True, slots=True)
class Figures(Timed):
    """Counts and milliseconds of some rounds; `a + b` adds them up.

    `drafted_at[i]` drafts had a token at position i, which was compared in `tested_at[i]` of them and accepted in
    `accepted_at[i]`. `num_siblings` are the further tokens that trees had at the same positions. `round_ms` is the
    distribution of the rounds' times.
    """

    num_rounds: int = 0
    num_tokens: int = 0
    num_drafts: int = 0
    drafted_at: tuple[int, ...] = ()
    tested_at: tuple[int, ...] = ()
    accepted_at: tuple[int, ...] = ()
    num_siblings: int = 0
    draft_ms: float = 0.0
    verify_ms: float = 0.0
    rollback_ms: float = 0.0
    other_ms: float = 0.0
    round_ms: Spread = field(default_factory=Spread)

    @classmethod
    def of(cls, rounds: Sequence[Round]) -> Figures:
        """The figures of these rounds."""
        stats = TurnStats()
        for event in rounds:
            stats.observe(event)
        drafted = tuple(stats.num_drafts_per_pos)
        return cls(
            num_rounds=stats.num_rounds,
            num_tokens=stats.num_tokens,
            num_drafts=stats.num_drafts,
            drafted_at=drafted,
            tested_at=_filled(tuple(stats.num_tested_tokens_per_pos), len(drafted)),
            accepted_at=_filled(tuple(stats.num_accepted_tokens_per_pos), len(drafted)),
            num_siblings=stats.num_draft_tokens - sum(drafted),
            draft_ms=stats.draft_ms,
            verify_ms=stats.verify_ms,
            rollback_ms=stats.rollback_ms,
            other_ms=stats.other_ms,
            round_ms=Spread.of(event.ms.total for event in rounds),
        )

    def __add__(self, other: Figures) -> Figures:
        """The figures of all rounds of both."""
        return Figures(
            **{
                each.name: _added(
                    getattr(self, each.name), getattr(other, each.name), by_place=each.name.endswith("_at")
                )
                for each in fields(self)
            }
        )

    @property
    def num_draft_tokens(self) -> int:
        """The number of drafted tokens."""
        return sum(self.drafted_at) + self.num_siblings

    @property
    def num_accepted_tokens(self) -> int:
        """The number of accepted tokens."""
        return sum(self.accepted_at)

    @property
    def num_rejected_tokens(self) -> int:
        """The number of places whose tokens were compared and all rejected."""
        return sum(self.tested_at) - sum(self.accepted_at)

    @property
    def accepted_by_place(self) -> tuple[float, ...]:
        """The share of the drafts with a first, second, … token in which that token was accepted."""
        return tuple(hit / tried for hit, tried in zip(self.accepted_at, self.drafted_at, strict=True))

    @property
    def mean_draft(self) -> float:
        """The mean length of a draft; 0 without drafts."""
        return self.num_draft_tokens / self.num_drafts if self.num_drafts else 0.0

    def to_stats(self) -> dict[str, Any]:
        """The counters under the names of a trace's statistics, as `Store.keep_stats` takes them for each kind."""
        return {
            "num_tokens": self.num_tokens,
            "num_rounds": self.num_rounds,
            "num_draft_tokens": self.num_draft_tokens,
            "num_accepted_tokens": self.num_accepted_tokens,
            "num_rejected_tokens": self.num_rejected_tokens,
            "decode_ms": self.decode_ms,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    """Sums over turns: of all rounds, by kind of content, and by source. `a + b` sums both.

    A whole round counts for one kind and one source, so that the figures of all kinds add up to `total`. `plain_ms` is
    the time of plain decoding for the turns whose C(1) is known, `against_ms` the time that they took. `first_ms` is
    the distribution of the time to the first token.
    """

    turns: int = 0
    total: Figures = field(default_factory=Figures)
    by_kind: Mapping[str, Figures] = field(default_factory=dict)
    by_source: Mapping[str, Figures] = field(default_factory=dict)
    plain_ms: float = 0.0
    against_ms: float = 0.0
    first_ms: Spread = field(default_factory=Spread)

    @classmethod
    def of_turn(cls, rounds: Sequence[Round], stats: Mapping[str, Any] | None = None) -> Summary:
        """The summary of one turn. `stats` is the object of that name in the trace's last line, if there is one."""
        total, stats = Figures.of(rounds), stats or {}
        speedup, first_ms = stats.get("speedup"), stats.get("ttft_ms")
        kinds = [kind.value for kind in kinds_of_rounds(rounds)]
        return cls(
            turns=1,
            total=total,
            by_kind=_grouped(rounds, kinds),
            by_source=_grouped(rounds, [event.source for event in rounds]),
            plain_ms=speedup * total.decode_ms if speedup else 0.0,
            against_ms=total.decode_ms if speedup else 0.0,
            first_ms=Spread.of([first_ms] if first_ms else []),
        )

    def __add__(self, other: Summary) -> Summary:
        """All turns of both."""
        return Summary(
            turns=self.turns + other.turns,
            total=self.total + other.total,
            by_kind=_joined(self.by_kind, other.by_kind),
            by_source=_joined(self.by_source, other.by_source),
            plain_ms=self.plain_ms + other.plain_ms,
            against_ms=self.against_ms + other.against_ms,
            first_ms=self.first_ms + other.first_ms,
        )

    @property
    def speedup(self) -> float | None:
        """The measured speed-up over plain decoding; None if C(1) was never known."""
        return self.plain_ms / self.against_ms if self.against_ms else None


def _grouped(rounds: Sequence[Round], names: Sequence[str]) -> dict[str, Figures]:
    groups: dict[str, list[Round]] = {}
    for event, name in zip(rounds, names, strict=True):
        groups.setdefault(name, []).append(event)
    return {name: Figures.of(group) for name, group in groups.items()}


def _joined(left: Mapping[str, Figures], right: Mapping[str, Figures]) -> dict[str, Figures]:
    return {name: left.get(name, Figures()) + right.get(name, Figures()) for name in (*left, *right)}


def _added(left: Any, right: Any, *, by_place: bool) -> Any:
    if not by_place:
        return left + right
    longest = max(len(left), len(right))
    return tuple(a + b for a, b in zip(_filled(left, longest), _filled(right, longest), strict=True))


def _filled(counts: tuple[int, ...], length: int) -> tuple[int, ...]:
    return counts + (0,) * (length - len(counts))
