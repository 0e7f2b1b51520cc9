"""Which drafter drafts the next round, and how many tokens: the option with the most tokens per millisecond.

    E[N] = 1 + Σ_{i≤k} Π_{j≤i} a_j      E[T] = C(k+1) + the time of drafting k tokens      value = E[N] / E[T]

`Acceptance` estimates how likely each drafted token is accepted, the cost model what the round takes, and `early_stop`
how long the draft should be. Plain decoding is an option too: one token in C(1). Within one drafter the length
maximizes E[N] - pace · E[T], which is above 0 exactly if the value beats the pace. A drafter that promises no gain is
tried now and then, within a small budget, because only trying shows how good its drafts are on this text.

Drafters are known by their traits. The evidence for a token is a "confidence", reported while drafting, the length of a
"match", known before, or "nothing". The cost is a pass for each "step", one for the whole "draft", or "nothing".
`longest` limits drafts. Each round a drafter's Prospect says how many tokens are `unread`, how long its `match` is,
whether that match is `resumed` after an edit, and in a `note` why it cannot draft.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.drafts import DrafterTraits
from specchat_engine.drafters import ModelDrafter
from specchat_engine.models import ALONE, Company
from specchat_engine.policy.acceptance import (
    AGREED,
    EVIDENCE,
    VOTE,
    Acceptance,
    Shares,
    evidence_for,
    evidence_for_runner_up,
)
from specchat_engine.policy.branching import Branching
from specchat_engine.policy.candidates import HOPED, Candidate, weigh
from specchat_engine.policy.cost_model import CostCurve, CostsByThreads, DraftCosts
from specchat_engine.policy.drift import Drift
from specchat_engine.policy.early_stop import EarlyStop, Option
from specchat_engine.policy.loss_budget import LossBudget
from specchat_engine.policy.sharpness import Sharpness
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.policy.track_record import TrackRecord
from specchat_engine.policy.trend import Trend
from specchat_engine.settings import USUAL_K

_FIRST_DRAFT = 4
"""A draft may have this many tokens more than the accepted tokens that are remembered of its drafter. So a drafter that
is sure and wrong is found out with short drafts."""

_DRAFTS, _DRAFTS_WEIGHT = 16.0, 0.3
"""The time that a drafter needs to catch up on unread tokens is spread over the drafts that it makes in an answer: so
many at first, then what it made in answers of this kind, of which the latest has this weight."""

_FIRST_READING = 0.5
"""A drafter may read for this many plain rounds before its first draft on a kind of text, besides the budget."""

_MOST_AT_STAKE, _MOST_IN_TRIALS = 24.0, 5.0
"""So many plain rounds may be lost at most, by a draft that promises a gain and by one that is tried."""

_GAINED = 6.0
"""Drafts must have gained this many plain rounds before one is made that promises less than another."""

_READ_WIDTH = 16
"""The cost of reading many tokens at once is first taken from target passes over this many tokens."""

_LITTLE_READ = 8
"""A round with more unread tokens measures reading, any other round measures drafting."""

_PLAIN_SEEN = 2
"""A plain pass is timed this often before anything is drafted."""

_PLAIN_RUN, _PLAIN_EVERY = 2, 64
"""Later, 2 plain rounds in a row are timed after 64 other rounds. The first of them does not count: a plain pass takes
longer right after a pass of the draft model."""

_PLAIN_HOLD = 6
"""A decision to draft nothing holds for this many more rounds, unless a longer match is found. Plain rounds teach
little that could change it, and with small models deciding takes a tenth of such a round."""

_OVERHEAD_WEIGHT = 0.1
"""The weight of the latest plain round in the average time between passes."""


class Controller:
    """Decides before each round, and learns after it. There is one for each pair, and its sessions share it.

    `targets` has the cost of target passes, `drafts` the cost of drafts by the drafter's name. Draft models all compute
    with the same number of threads. `record` has what each drafter's rounds really gained, and `drift` notices drafters
    that are accepted less often than they used to be.
    """

    def __init__(self) -> None:
        self.threads = (0, 0)
        self.targets = CostsByThreads()
        self.drafts: dict[str, DraftCosts] = {}
        self.acceptance = Acceptance()
        self._kind = ""
        self._trends: dict[tuple[str, str], Trend] = {}
        self._budget, self._trials = LossBudget(_MOST_AT_STAKE), LossBudget(_MOST_IN_TRIALS)
        self.record = TrackRecord()
        self.drift = Drift()
        self._promised_rate: dict[str, float] = {}
        self._made: Counter[str] = Counter()
        self._usual_drafts: dict[tuple[str, str], float] = {}
        self._overhead_ms = 0.0
        self._plain_run = self._since_plain_run = 0
        self._plain_hold = Decision(None, 0, "")
        self._plain_hold_match: dict[DrafterTraits, int] = {}
        self._plain_hold_rounds = 0

    @property
    def target(self) -> CostCurve:
        """C(w), with the number of threads in force."""
        return self.targets.current

    def costs_of(self, drafter: str) -> DraftCosts:
        """The costs of a drafter's drafts, empty at first."""
        if drafter not in self.drafts:
            self.drafts[drafter] = costs = DraftCosts()
            costs.by_threads.use(self.threads[1])
        return self.drafts[drafter]

    def use_threads(self, target: int, draft: int) -> None:
        """Sets the number of threads that the target and the draft model compute with from now on."""
        if self.threads != (target, draft):
            self.threads = target, draft
            self.targets.use(target)
            for costs in self.drafts.values():
                costs.by_threads.use(draft)

    def beside(self) -> Controller:
        """The controller of another answer at the same time: it knows and learns the same, and decides for itself."""
        other = Controller()
        other.threads, other.targets, other.drafts = self.threads, self.targets, self.drafts
        other.acceptance, other.drift = self.acceptance, self.drift
        other._budget, other._trials, other.record = self._budget, self._trials, self.record
        return other

    def begin(self, kind: str) -> None:
        """Starts an answer of this kind of text."""
        for drafter, made in self._made.items():
            usual = self._usual_drafts.get((self._kind, drafter), _DRAFTS)
            self._usual_drafts[self._kind, drafter] = usual + _DRAFTS_WEIGHT * (made - usual)
        self._kind, self._promised_rate, self._made, self._plain_hold_rounds = kind, {}, Counter(), 0
        self._trends = {}

    def decide(self, situation: Situation) -> Decision:
        """Who drafts in the next round, and how much. A draft that pays comes first, then a trial, then plain decoding.

        Of several drafts that pay, the one that promises most is made. Once drafts have gained something, it is the one
        with the best hopes, so that no drafter is passed over only because less is known of it. What a drafter's rounds
        really gained replaces what was expected of them. If several drafters gain nothing, the one with the best
        prospects is tried.
        """
        if not (situation.longest and situation.prospects):
            return Decision(None, 0, "nothing may be drafted")
        alone = not situation.company.answers
        if alone and not situation.fixed and not situation.after_pause and self._must_time_plain:
            return Decision(None, 0, "measures plain passes")
        if self._plain_hold_applies(situation):
            self._plain_hold_rounds -= 1
            return self._plain_hold
        self._plain_hold_rounds = 0
        widest = situation.longest + 1 + max(drafter.beside for drafter in situation.prospects)
        verify_ms = self._verify_ms(situation, widest)
        if verify_ms is None:
            return self._blind(situation)
        plain = Option(0, 1.0, verify_ms[1] + self._overhead_ms)
        may_lose = inf if situation.fixed else self._budget.left(self._kind) * plain.milliseconds
        candidates = [
            self._candidate(situation, drafter, verify_ms, plain, may_lose)
            for drafter, prospect in situation.prospects.items()
            if drafter.evidence != "match" or prospect.match
        ]
        candidates.sort(key=lambda candidate: candidate.gain, reverse=True)
        affordable = [candidate for candidate in candidates if candidate.costs[1] <= candidate.limit]
        may_explore = not situation.fixed and self._budget.left(self._kind) >= _GAINED
        paying = [one for one in affordable if one.pays(fixed=situation.fixed, hoping=may_explore)]
        if any(one.pays(fixed=situation.fixed) for one in paying):

            def gain(one: Candidate) -> float:
                if one.drafter.evidence == "match":  # which says more about the next draft than those before
                    return one.gain
                if may_explore:  # the lower of two upper bounds: what was accepted, and what that gained
                    return min(one.hope, self.record.hope(self._kind, one.drafter.name, one.gain))
                return self.record.gain(self._kind, one.drafter.name, one.gain)

            best = max(paying, key=gain)
            return replace(
                best.decision(fixed=situation.fixed),
                branches=self._branches(situation, best, verify_ms, plain),
                costs=verify_ms[: situation.longest + 2],
                pace=max(plain.rate, best.rate),
            )
        most = max((one.gain for one in candidates if one.drafter.evidence != "match"), default=0.0)
        for candidate in affordable:
            if candidate.gain < most:
                continue  # trials of it would spend what the most promising one needs first, to read the text
            if not situation.opening and (trial := self._trial(candidate, plain.milliseconds)):
                return trial
        reason, expected = ("no draft pays", candidates[0].gain) if candidates else ("no match", None)
        if candidates and candidates[0].pays(fixed=False):
            reason = "a draft could lose too much"
        if answers := situation.company.answers:
            reason = f"{reason} beside {answers} other answer{'s' * (answers > 1)}"
        self._plain_hold = Decision(None, 0, reason, expected=expected)
        self._plain_hold_match = {drafter: prospect.match for drafter, prospect in situation.prospects.items()}
        self._plain_hold_rounds = 0 if situation.opening else _PLAIN_HOLD
        return self._plain_hold

    def learn(self, situation: Situation, decision: Decision, outcome: Outcome) -> None:
        """Learns from a round that followed a decision."""
        for matching, right in outcome.matched.items():
            prospect = situation.prospects[matching]
            lengths = range(prospect.match, prospect.match + len(right))
            evidence = evidence_for(matching, prospect, opening=situation.opening)
            self._learn_tokens(matching.name, evidence, lengths, sum(right))
        agreed, accepted = outcome.borrowed
        if agreed:
            self._learn_tokens(VOTE, AGREED, agreed, accepted)
        drafter = decision.drafter
        tried = drafter is not None and (outcome.drafted > 0 or outcome.draft_ms > 0)
        timed = not (situation.after_pause or outcome.company.reading)
        if timed:
            self._learn_target(situation, outcome, plain=not tried)
        if outcome.company.answers:
            outcome = self._own_share(situation, outcome)
        self._trials.add_round(self._kind)
        if drafter is None or not tried:
            self._budget.add_round(self._kind)
            return
        self._made[drafter.name] += 1
        if timed:
            gained = self._gained(situation, drafter, outcome)
            self._budget.credit(self._kind, gained)
            steady_ms = outcome.milliseconds - self._reading_ms(situation, drafter)
            took = self._in_plain_rounds(max(steady_ms, outcome.milliseconds / 2), situation.depth, outcome.company)
            self.record.observe(self._kind, drafter.name, took, outcome.emitted)
            if decision.trial:
                self._trials.credit(self._kind, gained)
        sort = evidence_for_runner_up(drafter)
        for value, replaced in outcome.runners_up:
            self.shares(drafter.name, sort).observe(EVIDENCE[sort].classify(value), accepted=replaced)
        if drafter.evidence == "match":
            return
        if timed and not outcome.company.answers:
            self._learn_draft(situation, drafter, outcome)
        if drafter.evidence == "nothing":
            values: Sequence[float] = (0.0,) * outcome.compared
        else:  # passes that led to no token count as a rejected token without confidence
            values = outcome.confidence[: outcome.compared] if outcome.drafted else (0.0,)
        self._learn_tokens(drafter.name, drafter.evidence, values, outcome.accepted)
        self.drift.observe(self._kind, drafter.name, outcome.accepted, outcome.compared)

    def shares(self, drafter: str, evidence: str) -> Shares:
        """The shares of a drafter's tokens on this kind of text, and in this answer."""
        return self.acceptance.of(self._kind, drafter, evidence).in_answer(self._trend(drafter, evidence))

    def _trend(self, drafter: str, evidence: str) -> Trend:
        return self._trends.setdefault((drafter, evidence), Trend())

    def _learn_tokens(self, drafter: str, evidence: str, values: Sequence[float], accepted: int) -> None:
        """Learns which compared tokens were accepted, for this kind of text and for this answer."""
        self.acceptance.learn(self._kind, drafter, evidence, values, accepted, self._trend(drafter, evidence))

    def sharpness(self, drafter: str) -> Sharpness:
        """How much a drafter should sharpen on this kind of text."""
        return self.acceptance.sharpness(self._kind, drafter)

    def learn_reading(self, drafter: str, depth: int, tokens: int, milliseconds: float) -> None:
        """Learns what it took a drafter to read some tokens outside of a round."""
        self.costs_of(drafter).learn_reading(tokens, milliseconds)
        self._budget.credit(self._kind, -self._in_plain_rounds(milliseconds, depth))

    def measured_costs(self, depth: int) -> MeasuredCosts:
        """C(w) and the time of a step of the draft model: times that were taken at this depth or the nearest one."""
        drafts = self.costs_of(ModelDrafter.name).by_threads.current.timed(depth)
        usual = min(drafts, key=lambda length: abs(length - USUAL_K), default=0)
        return MeasuredCosts(tuple(self.target.timed(depth).items()), drafts[usual] / usual if usual else None)

    @property
    def _must_time_plain(self) -> bool:
        return self.target.seen(1) < _PLAIN_SEEN or self._since_plain_run >= _PLAIN_EVERY

    def _plain_hold_applies(self, situation: Situation) -> bool:
        """Whether the last decision to draft nothing still holds: the drafters are the same, no match is longer."""
        held, prospects = self._plain_hold_match, situation.prospects
        same = self._plain_hold_rounds > 0 and not situation.fixed and held.keys() == prospects.keys()
        return same and all(
            prospect.match <= held[drafter] and not prospect.resumed for drafter, prospect in prospects.items()
        )

    def _blind(self, situation: Situation) -> Decision:
        """A decision before any pass was measured."""
        k = situation.longest if situation.fixed else min(situation.longest, USUAL_K)
        for drafter, prospect in situation.prospects.items():
            if drafter.evidence != "match" or prospect.match:
                return Decision(drafter, k, "nothing measured yet")
        return Decision(None, 0, "no match")

    def _candidate(
        self,
        situation: Situation,
        drafter: DrafterTraits,
        verify_ms: Sequence[float],
        plain: Option,
        may_lose: float,
    ) -> Candidate:
        """The best draft of one drafter that loses at most `may_lose` milliseconds, all reading before it included.

        With a fixed k it has the full length and never ends early.
        """
        prospect = situation.prospects[drafter]
        sort = evidence_for(drafter, prospect, opening=situation.opening)
        shares, most = self.shares(drafter.name, sort), situation.longest
        if not situation.fixed:
            most = min(most, drafter.longest)
        is_limited = not situation.fixed and drafter.evidence != "match"
        known = min(most, _FIRST_DRAFT + int(shares.accepted)) if is_limited else most
        read_ms = self._reading_ms(situation, drafter)
        share_ms = read_ms / max(1.0, self._usual_drafts.get((self._kind, drafter.name), _DRAFTS))
        costs = self._round_ms(situation, drafter, share_ms, verify_ms, most)
        limit = costs[0] + may_lose - max(0.0, read_ms - share_ms - self._free_reading_ms(drafter, situation.depth))
        # The speed to beat is the drafter's own: what its last best draft promised.
        pace = max(plain.rate, self._promised_rate.get(drafter.name, 0.0))
        candidate = weigh(situation, drafter, shares, EVIDENCE[sort], costs, known, limit, plain.rate, pace)
        self._promised_rate[drafter.name] = candidate.rate
        return candidate

    def _branches(
        self, situation: Situation, best: Candidate, verify_ms: Sequence[float], plain: Option
    ) -> Branching | None:
        """What makes a tree of a draft, if that may pay. Without evidence for its tokens none is made."""
        drafter, prospect = best.drafter, best.prospect
        if not situation.tree or drafter.evidence == "nothing":
            return None
        plain_ms = self.target.at(1, situation.depth) or verify_ms[1]
        step_ms = self.costs_of(drafter.name).expected(drafter, situation.depth, 1, plain_ms)[1]
        rule = Branching(
            situation.tree,
            situation.tree_fixed,
            self.shares(drafter.name, evidence_for(drafter, prospect, opening=situation.opening)),
            self.shares(drafter.name, evidence_for_runner_up(drafter)),
            prospect.match,
            () if situation.fixed else verify_ms[: situation.longest + 2],
            max(plain.rate, best.rate),
            step_ms,
        )
        return rule if rule.may_pay(min(best.k, len(best.costs) - 1) + 1) else None

    def _reading_ms(self, situation: Situation, drafter: DrafterTraits) -> float:
        """The time that a drafter needs to read what it has missed. The first step of the draft reads the last token.

        Until that was timed, reading many tokens at once is expected to save as much as with the target.
        """
        tokens, costs = situation.prospects[drafter].unread - 1, self.costs_of(drafter.name)
        if tokens <= 0 or drafter.cost == "nothing":
            return 0.0
        if costs.read_ms is not None:
            return tokens * costs.read_ms
        plain_ms, wide_ms = self.target.at(1, situation.depth), self.target.at(_READ_WIDTH, situation.depth)
        if not (plain_ms and wide_ms):
            return 0.0
        step_ms = costs.expected(drafter, situation.depth, 1, plain_ms)[1]
        return tokens * step_ms * wide_ms / (_READ_WIDTH * plain_ms)

    def _free_reading_ms(self, drafter: DrafterTraits, depth: int) -> float:
        """How long a drafter may read before its first draft on a kind of text, which costs nothing from the budget."""
        known = self.acceptance.of(self._kind, drafter.name, drafter.evidence).known
        return 0.0 if known else _FIRST_READING * (self.target.at(1, depth) or 0.0)

    def _gained(self, situation: Situation, drafter: DrafterTraits, outcome: Outcome) -> float:
        """How many plain rounds a round with a draft gained."""
        free_ms = min(self._reading_ms(situation, drafter), self._free_reading_ms(drafter, situation.depth))
        took = self._in_plain_rounds(outcome.milliseconds - free_ms, situation.depth, outcome.company)
        return outcome.emitted - took

    def _round_ms(
        self, situation: Situation, drafter: DrafterTraits, read_ms: float, verify_ms: Sequence[float], most: int
    ) -> list[float]:
        """The milliseconds of a round with a draft of 0 to `most` tokens. Without a draft nothing has to be read."""
        plain_ms = self.target.at(1, situation.depth) or verify_ms[1]
        draft_ms = self.costs_of(drafter.name).expected(drafter, situation.depth, most, plain_ms)
        if answers := situation.company.answers:  # they follow the same policy, so they draft at the same time
            shared = (self.target.at(1 + answers, situation.depth) or plain_ms) / plain_ms / (1 + answers)
            draft_ms = [shared * milliseconds for milliseconds in draft_ms]
        widths = range(2 + drafter.beside, most + 2 + drafter.beside)
        drafting = [
            self._overhead_ms + verify_ms[width] + drafting_ms + read_ms
            for width, drafting_ms in zip(widths, draft_ms[1:], strict=False)
        ]
        return [self._overhead_ms + verify_ms[1], *drafting]

    def _trial(self, candidate: Candidate, plain_ms: float) -> Decision | None:
        """A draft that promises no gain, made to learn more; None if it can't gain.

        It is the shortest draft that would gain if its tokens were as good as one can hope. Matches need no trial:
        every round shows whether they would have been right.
        """
        drafter, costs = candidate.drafter, candidate.costs
        if drafter.evidence == "match":
            return None
        for_drafts, for_trials = self._budget.left(self._kind), self._trials.left(self._kind)
        limit = candidate.limit - max(0.0, for_drafts - for_trials) * plain_ms
        for k in range(1, len(costs)):
            if costs[k] > limit:
                return None
            if expected_tokens(HOPED, k) - 1 > (costs[k] - costs[0]) / plain_ms:
                shares = self.shares(drafter.name, drafter.evidence)
                reason = "tried again" if shares.known else "not tried yet on this kind of text"
                stop = EarlyStop((0.0,) * k, shares.p_accept(), EVIDENCE[drafter.evidence].classify)
                return Decision(drafter, k, reason, stop, trial=True)
        return None

    def _learn_target(self, situation: Situation, outcome: Outcome, *, plain: bool) -> None:
        """Learns what the target's pass took. The first plain pass after a draft only counts if there is no other."""
        self._plain_run = self._plain_run + 1 if plain else 0
        self._since_plain_run = 0 if self._plain_run >= _PLAIN_RUN else self._since_plain_run + 1
        first_after_draft = plain and self._plain_run == 1
        if not first_after_draft or not self.target.seen(1):
            width = outcome.drafted + outcome.branches + 1 + outcome.company.tokens
            self.target.observe(width, situation.depth, outcome.verify_ms)
        if plain and not outcome.company.answers:
            self._overhead_ms += _OVERHEAD_WEIGHT * (outcome.other_ms - self._overhead_ms)

    def _learn_draft(self, situation: Situation, drafter: DrafterTraits, outcome: Outcome) -> None:
        """Learns what a draft took, including the time that it added between passes."""
        costs, prospect = self.costs_of(drafter.name), situation.prospects[drafter]
        plain_ms = self.target.at(1, situation.depth)
        spent_ms = outcome.draft_ms + max(0.0, outcome.other_ms - self._overhead_ms)
        if not (outcome.drafted and plain_ms):
            return
        if prospect.unread > _LITTLE_READ:
            draft_ms = costs.expected(drafter, situation.depth, outcome.drafted, plain_ms)[outcome.drafted]
            costs.learn_reading(prospect.unread - 1, spent_ms - draft_ms)
        else:
            draft_ms = max(spent_ms - self._reading_ms(situation, drafter), spent_ms / 2)
            costs.observe(drafter, outcome.drafted, situation.depth, draft_ms, outcome.draft_ms)

    def _verify_ms(self, situation: Situation, widest: int) -> list[float] | None:
        """What passes over 0 to `widest` tokens of its own cost an answer; None before any pass was measured.

        Alone that is C(w). A pass that others share costs it a part of a plain pass, as large as its part of the
        tokens, and all that its further tokens add, since everyone waits for them. So it drafts where that yields more
        tokens a second for all answers together.
        """
        company = situation.company
        others = round(company.usual_tokens)
        curve = self.target.curve(situation.depth, others + widest)
        if curve is None or not company.answers:
            return curve
        plain_ms = curve[others + 1]
        own_ms = _own_part(plain_ms, company)
        return [0.0, *(own_ms + shared_ms - plain_ms for shared_ms in curve[others + 1 :])]

    def _own_share(self, situation: Situation, outcome: Outcome) -> Outcome:
        """A round whose passes others shared, with its own part of the times, as in `_verify_ms`."""
        company = outcome.company
        plain_ms = self.target.at(company.tokens + 1, situation.depth) or outcome.verify_ms
        own_ms = self._plain_ms(situation.depth, company) or _own_part(outcome.verify_ms, company)
        return replace(
            outcome,
            verify_ms=max(own_ms, own_ms + outcome.verify_ms - plain_ms),
            draft_ms=outcome.draft_ms * company.draft_share,
        )

    def _plain_ms(self, depth: int, company: Company) -> float:
        """What a plain pass costs an answer; 0 before one was timed."""
        return _own_part(self.target.at(1 + round(company.usual_tokens), depth) or 0.0, company)

    def _in_plain_rounds(self, milliseconds: float, depth: int, company: Company = ALONE) -> float:
        """A time in plain rounds; 0 before one was timed."""
        plain_ms = self._plain_ms(depth, company)
        overhead_ms = 0.0 if company.answers else self._overhead_ms
        return milliseconds / (plain_ms + overhead_ms) if plain_ms else 0.0

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return {
            "target": self.targets.to_json(),
            "drafts": {name: costs.to_json() for name, costs in self.drafts.items()},
            "acceptance": self.acceptance.to_json(),
            "budgets": self._budget.to_json(),
            "trials": self._trials.to_json(),
            "gains": self.record.to_json(),
            "usual": self.drift.to_json(),
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
            controller._budget.take(kept.get("budgets", {}))
            controller._trials.take(kept.get("trials", {}))
            controller.record.take(kept.get("gains", {}))
            controller.drift.take(kept.get("usual", {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no record of a pair: {error}") from error
        return controller


def _own_part(plain_ms: float, company: Company) -> float:
    """What a plain pass costs one of the answers that share it: as much of it as of the tokens; all of it alone."""
    return plain_ms / (1 + company.usual_emitted)
