"""What tokens/s would have been with another k: predicted from what the turn measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.stats.chain import Chain, chain_of, main_source
from specchat.stats.curve import Basis, CostCurve, curve_of
from specchat_engine.analysis.theory import expected_tokens_by_position
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import BY_MODEL, Round
from specchat_engine.settings import AUTO, DraftLength


@dataclass(frozen=True, slots=True)
class Point:
    """One k: tokens and milliseconds of a round as expected, tokens/s, and what the prediction rests on."""

    k: int
    tokens: float
    round_ms: float
    basis: Basis

    @property
    def tokens_per_second(self) -> float:
        """Expected tokens / expected time."""
        return self.tokens / self.round_ms * 1000


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Points for k = 0 (plain decoding) to the largest k. `ran` is what was set, `measured` the turn's tokens/s.

    `undisturbed` is what the turn's own rounds would have given had their passes cost what the points reckon with:
    on a busy machine the measured tokens/s lie below it, and no k is to blame for that.
    `chain`, `curve`, `step_ms` (one draft step) and `between_ms` (all of a round beside its passes) are what it is
    computed from.
    """

    points: tuple[Point, ...]
    ran: DraftLength
    measured: float
    undisturbed: float
    chain: Chain
    curve: CostCurve
    step_ms: float
    between_ms: float

    @property
    def best(self) -> Point:
        """The fastest point, the shortest draft where even."""
        return max(self.points, key=lambda point: (point.tokens_per_second, -point.k))

    @property
    def now(self) -> float:
        """Tokens/s of what was set, at the same costs as the points, so that like is compared with like: predicted for
        a fixed k, else those of the turn's own rounds."""
        if self.ran == AUTO or self.ran >= len(self.points):
            return self.undisturbed
        return self.points[self.ran].tokens_per_second

    def gain(self, k: int) -> float:
        """How much faster this k is predicted to be than what was set: 0.06 is 6 %."""
        return self.points[k].tokens_per_second / self.now - 1

    def firm(self, k: int) -> bool:
        """Whether the prediction for this k rests on nothing beyond what was measured."""
        return self.points[k].basis is not Basis.EXTRAPOLATED


def what_if(
    rounds: Sequence[Round], costs: MeasuredCosts, ran: DraftLength, k_max: int, *, source: str | None = None
) -> WhatIf | None:
    """The prediction for k = 0 to `k_max` with the source that drafted most, or the one that is named.

    `costs` are at the pace of these rounds, as `curve.fitted` gives them. None where nothing was drafted by the source
    or fewer than two widths of passes were measured. Rounds are taken to be alike
    and positions to depend on those before them only; positions far into a draft were reached on easier text.
    """
    source = source or main_source(rounds)
    curve = curve_of(costs)
    spent = sum(event.ms.total for event in rounds)
    if source is None or curve is None or spent <= 0:
        return None
    chain = chain_of(rounds, source)
    step_ms = _step_ms(rounds, source, costs)
    if step_ms is None or not chain.num_tested:
        return None
    between_ms = sum(event.ms.other + event.ms.rollback for event in rounds) / len(rounds)
    emitted = sum(event.num_emitted for event in rounds)
    steps = {name: _step_ms(rounds, name, costs) or 0.0 for name in {event.source for event in rounds}}
    calm = sum(curve.at(len(event.drafted) + 1) + len(event.drafted) * steps[event.source] for event in rounds)
    points = predicted(chain, curve, step_ms, between_ms, k_max)
    return WhatIf(
        points=points,
        ran=ran,
        measured=emitted / spent * 1000,
        undisturbed=emitted / (calm + len(rounds) * between_ms) * 1000,
        chain=chain,
        curve=curve,
        step_ms=step_ms,
        between_ms=between_ms,
    )


def predicted(chain: Chain, curve: CostCurve, step_ms: float, between_ms: float, k_max: int) -> tuple[Point, ...]:
    """The points for k = 0 to `k_max`."""
    return tuple(_point(chain, curve, step_ms, between_ms, k) for k in range(k_max + 1))


def _point(chain: Chain, curve: CostCurve, step_ms: float, between_ms: float, k: int) -> Point:
    """The mean over the lengths that a draft may have of N(length) tokens and of C(length + 1) + length · step."""
    shares = chain.shares(k)
    tokens = time = 0.0
    for length, probability in enumerate(chain.lengths(k)):
        tokens += probability * expected_tokens_by_position(shares[:length])
        time += probability * (curve.at(length + 1) + length * step_ms)
    basis = max(curve.basis(k + 1), Basis.MEASURED if chain.measured(k) else Basis.EXTRAPOLATED)
    return Point(k, tokens, time + between_ms, basis)


def _step_ms(rounds: Sequence[Round], source: str, costs: MeasuredCosts) -> float | None:
    """The milliseconds of one step of a source's drafts: the draft model's own, else what the rounds took."""
    if source in BY_MODEL and costs.draft_step is not None:
        return costs.draft_step
    own = [event for event in rounds if event.source == source and event.drafted]
    drafted = sum(len(event.drafted) for event in own)
    return sum(event.ms.draft for event in own) / drafted if drafted else None
