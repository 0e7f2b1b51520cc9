"""Predicts tokens/s for every other k from the acceptance and the costs that a turn measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from specchat.stats.summary import Figures
from specchat_engine.analysis.theory import expected_tokens_by_position
from specchat_engine.decoding.costs import Basis, CostLine, MeasuredCosts
from specchat_engine.decoding.rounds import Round, by_model
from specchat_engine.settings import AUTO, HEADS, DraftLength

_PRIOR = 2.0
"""The number of comparisons for which the mean over all positions counts at each position."""

ENOUGH = 8
"""A position with this many comparisons counts as measured."""

_CLOSE = 0.15
"""A prediction fits an answer if it is off by at most this much where the answer was measured."""


@dataclass(frozen=True, slots=True)
class Chain:
    """The acceptance of one source's drafts by position, from 0. Discarded tokens were never compared and do not count.

    `accepted_at[i]` of `tested_at[i]` compared tokens were accepted. `reach[i]` is the share of rounds whose drafts
    reach position i if k allows it: 1 for a draft model or a head, less for lookup, which may find a short match.
    """

    source: str
    tested_at: tuple[int, ...]
    accepted_at: tuple[int, ...]
    reach: tuple[float, ...] = ()

    @property
    def num_tested(self) -> int:
        """The number of compared tokens."""
        return sum(self.tested_at)

    @property
    def alpha(self) -> float:
        """α over all positions; 0 if nothing was compared."""
        return sum(self.accepted_at) / self.num_tested if self.num_tested else 0.0

    def share(self, position: int) -> float:
        """The probability that the token at a position is accepted if those before it are. The less often it was
        compared, the more α counts."""
        tested = accepted = 0
        if position < len(self.tested_at):
            tested, accepted = self.tested_at[position], self.accepted_at[position]
        return (accepted + _PRIOR * self.alpha) / (tested + _PRIOR)

    def shares(self, k: int) -> list[float]:
        """The shares of the first k positions."""
        return [self.share(position) for position in range(k)]

    def lengths(self, k: int) -> list[float]:
        """[k + 1]: the probabilities of drafts of 0 to k tokens for this k."""
        last = self.reach[-1] if self.reach else 1.0
        reach, low = [], 1.0
        for position in range(k):
            low = min(low, self.reach[position] if position < len(self.reach) else last)
            reach.append(low)
        return [here - there for here, there in zip([1.0, *reach], [*reach, 0.0], strict=True)]

    def measured(self, k: int) -> bool:
        """True if all of the first k positions were compared often enough."""
        return k == 0 or (k <= len(self.tested_at) and min(self.tested_at[:k]) >= ENOUGH)


@dataclass(frozen=True, slots=True)
class Point:
    """The prediction for one k: expected tokens and milliseconds of a round, and how the costs were found."""

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
    """Points for k = 0 (plain decoding) to the largest k. `ran` is the k that was set, `measured` the turn's tokens/s.

    `undisturbed` is the speed of the turn's own rounds at the costs that the points assume. On a busy machine
    `measured` is lower, which is not the fault of any k. The prediction is computed from `chain`, `curve`, `step_ms`
    (one draft step) and `between_ms` (the rest of a round, outside its passes). `plain_off` says how far the prediction
    for plain decoding was from the measured speed-up, before that replaced it: 0.1 for 10 %.
    """

    points: tuple[Point, ...]
    ran: DraftLength
    measured: float
    undisturbed: float
    chain: Chain
    curve: CostLine
    step_ms: float
    between_ms: float
    plain_off: float = 0.0

    @property
    def fits(self) -> bool:
        """True if the costs explain the time that the answer took, and its speed-up. If not, they are another state's,
        and what they predict would contradict what was measured."""
        return abs(self.undisturbed / self.measured - 1) <= _CLOSE and abs(self.plain_off) <= _CLOSE

    @property
    def best(self) -> Point:
        """The fastest point; of equal ones, the smallest k."""
        return max(self.points, key=lambda point: (point.tokens_per_second, -point.k))

    @property
    def now(self) -> float:
        """Tokens/s of the k that was set, at the same costs as the points: predicted for a fixed k, else those of the
        turn's own rounds, also if they did not keep to that k."""
        if self.ran == AUTO or not 0 < self.ran < len(self.points):
            return self.undisturbed
        predicted = self.points[self.ran].tokens_per_second
        return predicted if abs(predicted / self.undisturbed - 1) <= _CLOSE else self.undisturbed

    def gain(self, k: int) -> float:
        """How much faster this k is predicted to be than the one that was set: 0.06 is 6 %."""
        return self.points[k].tokens_per_second / self.now - 1

    def firm(self, k: int) -> bool:
        """True if the prediction for this k needs no extrapolation."""
        return self.points[k].basis is not Basis.EXTRAPOLATED


def what_if(
    rounds: Sequence[Round],
    costs: MeasuredCosts,
    ran: DraftLength,
    k_max: int,
    *,
    source: str | None = None,
    speedup: float | None = None,
) -> WhatIf | None:
    """The prediction for k = 0 to `k_max` with the source that drafted most, or the one that is named.

    `costs` are scaled to the speed of these rounds, as `curve.fitted` does. None if the source drafted nothing or
    fewer than two widths of passes were measured. The model assumes that rounds are alike and that acceptance depends
    on the position only. Late positions were reached on easier text, so their predictions tend to be optimistic.

    With the measured `speedup`, the point for plain decoding follows from it instead of a prediction.
    """
    source = source or main_source(rounds)
    curve = costs.curve
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
    prediction = WhatIf(
        points=predicted(chain, curve, step_ms, between_ms, k_max),
        ran=ran,
        measured=emitted / spent * 1000,
        undisturbed=emitted / (calm + len(rounds) * between_ms) * 1000,
        chain=chain,
        curve=curve,
        step_ms=step_ms,
        between_ms=between_ms,
    )
    if speedup is None:
        return prediction
    plain = Point(0, 1.0, speedup / prediction.now * 1000, Basis.MEASURED)
    plain_ms = curve.at(1) + between_ms * len(rounds) / emitted  # time between passes, as in `speedup_over_plain`
    return replace(prediction, points=(plain, *prediction.points[1:]), plain_off=plain.round_ms / plain_ms - 1)


def predicted(chain: Chain, curve: CostLine, step_ms: float, between_ms: float, k_max: int) -> tuple[Point, ...]:
    """The points for k = 0 to `k_max`."""
    return tuple(_point(chain, curve, step_ms, between_ms, k) for k in range(k_max + 1))


def _point(chain: Chain, curve: CostLine, step_ms: float, between_ms: float, k: int) -> Point:
    """The means of N(length) tokens and of C(length + 1) + length · step over the lengths that a draft may have."""
    shares = chain.shares(k)
    tokens = time = 0.0
    for length, probability in enumerate(chain.lengths(k)):
        tokens += probability * expected_tokens_by_position(shares[:length])
        time += probability * (curve.at(length + 1) + length * step_ms)
    basis = max(curve.basis(k + 1), Basis.MEASURED if chain.measured(k) else Basis.EXTRAPOLATED)
    return Point(k, tokens, time + between_ms, basis)


def _step_ms(rounds: Sequence[Round], source: str, costs: MeasuredCosts) -> float | None:
    """Milliseconds per drafted token: the recorded step of the draft model, else the mean over the rounds."""
    if by_model(source) and source not in HEADS and costs.draft_step is not None:
        return costs.draft_step
    own = [event for event in rounds if event.source == source and event.drafted]
    drafted = sum(len(event.drafted) for event in own)
    return sum(event.ms.draft for event in own) / drafted if drafted else None


def chain_of(rounds: Sequence[Round], source: str) -> Chain:
    """The acceptance of one source in these rounds."""
    own = [event for event in rounds if event.source == source]
    figures = Figures.of(own)
    return Chain(source, figures.tested_at, figures.accepted_at, _reach(rounds) if not by_model(source) else ())


def _reach(rounds: Sequence[Round]) -> tuple[float, ...]:
    """For each position that k allowed, the share of rounds that drafted a token there, without passes."""
    drafts = [(event.k, len(event.drafted)) for event in rounds if not by_model(event.source)]
    shares: list[float] = []
    for position in range(max((k for k, _ in drafts), default=0)):
        lengths = [length for k, length in drafts if k > position]
        shares.append(sum(length > position for length in lengths) / len(lengths))
    return tuple(shares)


def main_source(rounds: Sequence[Round]) -> str | None:
    """The source that drafted in most rounds; None if nothing was drafted."""
    sources = [event.source for event in rounds if event.drafted]
    return max(sorted(set(sources)), key=sources.count) if sources else None
