"""Which drafter drafts the next round, and how many tokens: the option with the most tokens per millisecond.

    E[N] = 1 + Σ_{i≤k} Π_{j≤i} a_j      E[T] = C(k+1) + what drafting k tokens costs      value = E[N] / E[T]

`Acceptance` says how likely each drafted token stands, the cost model what the round takes, and `early_stop` how long
the draft should be. Plain decoding is an option too: one token in C(1). A drafter without a gain to expect is tried now
and then, within a small budget, since only trying tells how good its drafts are on this text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.policy.acceptance import EVIDENCE, Acceptance, evidence_for
from specchat_engine.policy.cost_model import CostCurve, CostsByThreads, DraftCosts
from specchat_engine.policy.early_stop import EarlyStop, Option, best_length, best_stopped
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.settings import USUAL_K

_WORTH_IT = 1.04
"""Drafts that cost passes have to promise this many times the speed of plain decoding: of estimates close to 1, those
above it are mostly too high."""

_FIRST_DRAFT = 4
"""A drafter may draft this many tokens more than it has had accepted lately: one that is sure and wrong is found out
with short drafts."""

_READING_ROUNDS = 16
"""What a drafter has to read first is paid for by this many rounds."""

_BUDGET, _BUDGET_PER_ANSWER, _BUDGET_PER_ROUND = 5.0, 1.0, 0.008
"""Exploration may lose this many plain rounds on a kind of text, at first and at most, and what is added to that."""

_HOPED = 0.95
"""The acceptance that a drafter is hoped to have when it is tried."""

_LITTLE_READ = 8
"""Drafts that read more tokens first tell what reading takes, the others what drafting takes."""

_PLAIN_SEEN = 3
"""A plain pass is timed this often before anything is drafted."""

_PLAIN_RUN = 2
"""Later plain rounds are timed in runs of this many. The first of a run does not count: the draft model's pass before
it has driven the weights out of the caches."""

_PLAIN_EVERY = 64
"""Such a run comes after this many other rounds: while drafts are made, nothing else tells what a plain pass takes."""

_PLAIN_HOLDS = 6
"""A decision to draft nothing holds for this many more rounds, unless a match is found: plain rounds teach little that
could change it, and with small models deciding takes a tenth of such a round."""

_FOLLOWS = 0.1


class Controller:
    """Decides before each round, and learns from each: one for a pair, shared by its sessions.

    `targets` holds what target passes cost, `drafts` what the drafts of each drafter cost, by the drafter's name.
    """

    def __init__(self) -> None:
        self.threads = (0, 0)
        self.targets = CostsByThreads()
        self.drafts: dict[str, DraftCosts] = {}
        self.acceptance = Acceptance()
        self._kind = ""
        self._budgets: dict[str, float] = {}
        self._rates: dict[str, float] = {}
        self._overhead_ms = 0.0
        self._plain_run = self._since_plain_run = 0
        self._held = Decision(None, 0, "")
        self._held_for: tuple[DrafterTraits, ...] = ()
        self._holds = 0

    @property
    def target(self) -> CostCurve:
        """C(w), with the number of threads in force."""
        return self.targets.now

    def costs_of(self, drafter: str) -> DraftCosts:
        """What the drafts of a drafter cost."""
        if drafter not in self.drafts:
            self.drafts[drafter] = costs = DraftCosts()
            costs.by_threads.use(self.threads[1])
        return self.drafts[drafter]

    def use_threads(self, target: int, draft: int) -> None:
        """The target and the draft model compute with so many threads from now on."""
        if self.threads != (target, draft):
            self.threads = target, draft
            self.targets.use(target)
            for costs in self.drafts.values():
                costs.by_threads.use(draft)

    def begin(self, kind: str) -> None:
        """An answer begins, of this kind of text."""
        self._kind, self._rates, self._holds = kind, {}, 0
        self._budgets[kind] = min(_BUDGET, self._budgets.get(kind, _BUDGET) + _BUDGET_PER_ANSWER)

    def decide(self, now: Situation) -> Decision:
        """What the next round is made of."""
        if not (now.longest and now.prospects):
            return Decision(None, 0, "nothing may be drafted")
        if not now.fixed and not now.rested and self._must_time_plain:
            return Decision(None, 0, "measures plain passes")
        if self._still_holds(now):
            self._holds -= 1
            return self._held
        verify_ms = self.target.curve(now.depth, now.longest + 1)
        if verify_ms is None:
            return self._blind(now)
        best = plain = Option(0, 1.0, verify_ms[1] + self._overhead_ms)
        decision, trial = Decision(None, 0, "no match"), None
        for drafter, prospect in now.prospects.items():
            if drafter.evidence == "match" and not prospect.match:
                continue
            costs = self._round_ms(now, drafter, prospect, verify_ms)
            option, stop = self._best_draft(now, drafter, prospect, costs, plain.rate)
            gain = option.rate / plain.rate
            needed = 0.0 if now.fixed else 1.0 if drafter.cost == "nothing" else _WORTH_IT
            if gain > needed and (option.rate > best.rate or decision.drafter is None):
                best = option
                decision = Decision(drafter, option.k, _because(prospect, gain), stop)
            elif decision.drafter is None and not trial:
                decision = Decision(None, 0, f"a draft gives {gain:.2f} × plain")
                trial = self._trial(now, drafter, prospect, costs, plain)
        if decision.drafter is None and trial:
            return trial
        self._held, self._held_for = decision, tuple(now.prospects)
        self._holds = _PLAIN_HOLDS if decision.drafter is None and not now.opening else 0
        return decision

    def learn(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        """Learns from a round that was made by a decision."""
        for matching, right in outcome.matched.items():
            prospect = now.prospects[matching]
            lengths = range(prospect.match, prospect.match + len(right))
            evidence = evidence_for(matching, prospect, opening=now.opening)
            self.acceptance.learn(self._kind, matching.name, evidence, lengths, sum(right))
        drafter = decision.drafter
        tried = drafter is not None and (outcome.drafted > 0 or outcome.draft_ms > 0)
        if not now.rested:
            self._learn_target(now, outcome, plain=not tried)
        if drafter is None or not tried or drafter.evidence == "match":
            self._earn(_BUDGET_PER_ROUND)
            return
        if not now.rested:
            self._earn(outcome.emitted - self._in_plain_rounds(outcome.milliseconds, now.depth))
            self._learn_draft(now, drafter, outcome)
        if drafter.evidence == "nothing":
            values: Sequence[float] = (0.0,) * outcome.compared
        else:  # passes that led to no token count as a token that the drafter was not sure of
            values = outcome.confidence[: outcome.compared] if outcome.drafted else (0.0,)
        self.acceptance.learn(self._kind, drafter.name, drafter.evidence, values, outcome.accepted)

    def read(self, drafter: str, depth: int, tokens: int, milliseconds: float) -> None:
        """A drafter read so many tokens apart from any round."""
        self.costs_of(drafter).learn_reading(tokens, milliseconds)
        self._earn(-self._in_plain_rounds(milliseconds, depth))

    def measured_costs(self, depth: int) -> MeasuredCosts:
        """What was measured at this depth, or at the nearest one: C(w), and one step of a draft of usual length."""
        steps = [
            milliseconds / USUAL_K
            for costs in self.drafts.values()
            if (milliseconds := costs.by_threads.now.at(USUAL_K, depth))
        ]
        return MeasuredCosts(tuple(self.target.measured(depth).items()), steps[0] if steps else None)

    @property
    def _must_time_plain(self) -> bool:
        return self.target.seen(1) < _PLAIN_SEEN or self._since_plain_run >= _PLAIN_EVERY

    def _still_holds(self, now: Situation) -> bool:
        """Whether the last decision to draft nothing holds for this round: with the same drafters, and no match."""
        same = not now.fixed and tuple(now.prospects) == self._held_for
        return self._holds > 0 and same and not any(prospect.match for prospect in now.prospects.values())

    def _blind(self, now: Situation) -> Decision:
        """A decision before any pass was measured."""
        k = now.longest if now.fixed else min(now.longest, USUAL_K)
        for drafter, prospect in now.prospects.items():
            if drafter.evidence != "match" or prospect.match:
                return Decision(drafter, k, "nothing measured yet")
        return Decision(None, 0, "no match")

    def _round_ms(
        self, now: Situation, drafter: DrafterTraits, prospect: Prospect, verify_ms: Sequence[float]
    ) -> list[float]:
        """What a round with a draft of 0, 1, 2, … tokens takes, for as many as this drafter may draft now."""
        most, costs = now.longest, self.costs_of(drafter.name)
        if not now.fixed:
            most = min(most, drafter.longest)
            if drafter.evidence != "match":
                shares = self.acceptance.of(self._kind, drafter.name, drafter.evidence)
                most = min(most, _FIRST_DRAFT + int(shares.accepted))
        draft_ms = costs.expected(drafter, now.depth, most, verify_ms[1])
        read_ms = costs.reading_ms(drafter, prospect, verify_ms[1]) / _READING_ROUNDS
        round_ms = [self._overhead_ms + verify_ms[n + 1] + draft_ms[n] + read_ms for n in range(most + 1)]
        round_ms[0] -= read_ms
        return round_ms

    def _best_draft(
        self, now: Situation, drafter: DrafterTraits, prospect: Prospect, costs: Sequence[float], plain_rate: float
    ) -> tuple[Option, EarlyStop | None]:
        """The best draft of one drafter, and what ends it early. `costs[n]` is what a round with n tokens takes."""
        most = len(costs) - 1
        sort = evidence_for(drafter, prospect, opening=now.opening)
        shares, classify = self.acceptance.of(self._kind, drafter.name, sort), EVIDENCE[sort].classify
        stands = shares.stands()
        if drafter.evidence == "confidence":
            if not now.fixed:
                # Time is worth what this drafter makes of it: the rate that its last best draft promised.
                pace = max(plain_rate, self._rates.get(drafter.name, 0.0))
                option = best_stopped(stands, shares.frequency(), costs, pace)
                self._rates[drafter.name] = option.rate
                return option, EarlyStop(option.bounds, stands, classify)
            chance = sum(stand * often for stand, often in zip(stands, shares.frequency(), strict=True))
            lengths, tokens = range(most, most + 1), [chance] * most
            return best_length(tokens, costs, lengths, plain_rate), EarlyStop((0.0,) * most, stands, classify)
        tokens = [stands[classify(prospect.match + place)] for place in range(most)]
        return best_length(tokens, costs, range(most if now.fixed else 1, most + 1), plain_rate), None

    def _trial(
        self, now: Situation, drafter: DrafterTraits, prospect: Prospect, costs: Sequence[float], plain: Option
    ) -> Decision | None:
        """A draft that promises no gain, made to learn more, if the budget allows it; None otherwise.

        It is the shortest draft that would gain if its tokens stood as is to be hoped. Matches need no trial: whether
        they would have been right shows without drafting.
        """
        if drafter.evidence == "match" or now.opening:
            return None
        for k in range(1, len(costs)):
            extra = (costs[k] - costs[0]) / plain.milliseconds
            if expected_tokens(_HOPED, k) - 1 > extra:
                break
        else:
            return None
        shares = self.acceptance.of(self._kind, drafter.name, drafter.evidence)
        if shares.known:  # then reading all of it has to pay for this draft alone
            read_ms = self.costs_of(drafter.name).reading_ms(drafter, prospect, plain.milliseconds)
            extra += read_ms * (1 - 1 / _READING_ROUNDS) / plain.milliseconds
        if extra > self._budgets.get(self._kind, _BUDGET):
            return None
        stop = EarlyStop((0.0,) * k, shares.stands(), EVIDENCE[drafter.evidence].classify)
        return Decision(drafter, k, "tried again" if shares.known else "not tried yet on this kind of text", stop)

    def _learn_target(self, now: Situation, outcome: Outcome, *, plain: bool) -> None:
        self._plain_run = self._plain_run + 1 if plain else 0
        self._since_plain_run = 0 if self._plain_run >= _PLAIN_RUN else self._since_plain_run + 1
        if self._plain_run != 1 or not self.target.seen(1):
            self.target.observe(outcome.drafted + 1, now.depth, outcome.verify_ms)
        if plain:
            self._overhead_ms += _FOLLOWS * (outcome.other_ms - self._overhead_ms)

    def _learn_draft(self, now: Situation, drafter: DrafterTraits, outcome: Outcome) -> None:
        """Learns what a draft took; what it added to the time between passes belongs to it."""
        costs, prospect, plain_ms = self.costs_of(drafter.name), now.prospects[drafter], self.target.at(1, now.depth)
        spent_ms = outcome.draft_ms + max(0.0, outcome.other_ms - self._overhead_ms)
        if not (outcome.drafted and plain_ms):
            return
        if prospect.unread > _LITTLE_READ:
            draft_ms = costs.expected(drafter, now.depth, outcome.drafted, plain_ms)[outcome.drafted]
            costs.learn_reading(prospect.unread - 1, spent_ms - draft_ms)
        else:
            read_ms = costs.reading_ms(drafter, prospect, plain_ms)
            costs.by_threads.now.observe(outcome.drafted, now.depth, max(spent_ms - read_ms, spent_ms / 2))

    def _in_plain_rounds(self, milliseconds: float, depth: int) -> float:
        """A time in plain rounds; 0 before one was timed."""
        plain_ms = self.target.at(1, depth)
        return milliseconds / (plain_ms + self._overhead_ms) if plain_ms else 0.0

    def _earn(self, rounds: float) -> None:
        """Adds plain rounds to the budget of exploration, or takes them away."""
        self._budgets[self._kind] = max(-_BUDGET, min(_BUDGET, self._budgets.get(self._kind, _BUDGET) + rounds))

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return {
            "target": self.targets.to_json(),
            "drafts": {name: costs.to_json() for name, costs in self.drafts.items()},
            "acceptance": self.acceptance.to_json(),
            "budgets": {kind: round(budget, 3) for kind, budget in self._budgets.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Controller:
        """Reads what `to_json` wrote; missing fields are as if nothing had been learned. Raises ValueError for anything
        else."""
        controller = cls()
        try:
            controller.targets = CostsByThreads.from_json(kept["target"])
            controller.drafts = {str(name): DraftCosts.from_json(one) for name, one in kept.get("drafts", {}).items()}
            controller.acceptance = Acceptance.from_json(kept.get("acceptance", {}))
            budgets = {str(kind): float(budget) for kind, budget in kept.get("budgets", {}).items()}
            controller._budgets = {kind: max(-_BUDGET, min(_BUDGET, budget)) for kind, budget in budgets.items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no record of a pair: {error}") from error
        return controller


def _because(prospect: Prospect, gain: float) -> str:
    match = f"match of {prospect.match}{' after an edit' * prospect.resumed}, " if prospect.match else ""
    return f"{match}{gain:.2f} × plain expected"
