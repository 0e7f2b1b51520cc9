"""The best draft that one drafter can make in the next round, to be compared with those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import sqrt

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.acceptance import Evidence, Shares
from specchat_engine.policy.early_stop import EarlyStop, best_length, stop_bounds
from specchat_engine.policy.situation import Decision, Situation

_WORTH_IT = 1.04
"""Drafts that cost passes must promise this many times the speed of plain decoding, as estimates close to 1 tend to be
optimistic."""

HOPED, _BEST = 0.95, 0.99
"""The acceptance that an untried draft must gain with, and the best that one may have."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The best draft of one drafter: at most `k` tokens. `costs[n]` is the milliseconds of a round with n of them.

    Rounds that take longer than `limit` could lose too much, so `costs` ends before them, but not before a first token.
    `rate` is the expected number of tokens per millisecond, `gain` the same relative to plain decoding. `hope` is what
    the gain may turn out to be: with drafts of any length, and with as good an acceptance as what was seen leaves open.
    """

    drafter: DrafterTraits
    prospect: Prospect
    costs: Sequence[float]
    limit: float
    k: int
    stop: EarlyStop | None
    rate: float
    gain: float
    hope: float

    def pays(self, *, fixed: bool, hoping: bool = False) -> bool:
        """Whether to make this draft, by its gain or by what it may turn out to gain. With a fixed k some draft has to
        be made."""
        gain = self.hope if hoping else self.gain
        return fixed or gain > (1.0 if self.drafter.cost == "nothing" else _WORTH_IT)

    def decision(self, *, fixed: bool) -> Decision:
        """The decision to make this draft."""
        match = self.prospect.match
        found = f"match of {match}{' after an edit' * self.prospect.resumed}" if match else "a draft pays"
        return Decision(self.drafter, self.k, "k is fixed" if fixed else found, self.stop, self.gain)


def weigh(
    situation: Situation,
    drafter: DrafterTraits,
    shares: Shares,
    evidence: Evidence,
    all_costs: Sequence[float],
    known: int,
    limit: float,
    plain_rate: float,
    pace: float,
) -> Candidate:
    """The best draft of at most `known` tokens that costs no more than `limit`. With a fixed k it has the full length
    and never ends early. `all_costs` go on to the longest draft that the drafter may make.

    Rates are in tokens per millisecond. Drafts that end early are measured against `pace`, others against `plain_rate`.
    """
    costs = [*all_costs[:2], *takewhile(lambda cost: cost <= limit, all_costs[2 : known + 1])]
    prospect, most, fixed = situation.prospects[drafter], len(costs) - 1, situation.fixed
    lengths = range(most if fixed else 1, most + 1)
    p_accept, hope = shares.p_accept(), 0.0
    if drafter.evidence == "confidence":  # known only while drafting, so every token is taken as an average one
        mean = sum(p * often for p, often in zip(p_accept, shares.frequency(), strict=True))
        option = best_length([mean] * most, costs, lengths, pace)
        bounds = (0.0,) * most if fixed else stop_bounds(mean, costs, pace)
        k, stop = min(len(bounds) + 1, most), EarlyStop(bounds, p_accept, evidence.classify)
        if not fixed:
            hopeful = max(mean, min(_BEST, mean + sqrt(mean * (1 - mean) / (shares.tested + 1))))
            longest = len(all_costs) - 1
            hope = best_length([hopeful] * longest, all_costs, range(1, longest + 1), pace).rate / plain_rate
    else:
        tokens = [p_accept[evidence.classify(prospect.match + ahead)] for ahead in range(most)]
        option = best_length(tokens, costs, lengths, plain_rate)
        k, stop = option.k, None
    gain = option.rate / plain_rate
    return Candidate(drafter, prospect, costs, limit, k, stop, option.rate, gain, max(gain, hope))
