"""Learns from every round what passes cost and what is accepted, and puts it together for the next decision.

`cost_model` has what the target's passes and the drafts take on this machine, `acceptance` how likely drafted tokens
stand, and `policy` decides. Drafters are known by their traits. The evidence for a token is a "confidence", reported
while drafting, the length of a "match", known before, or "nothing", and a drafter may be "certain". The cost is a pass
for each "step", one for the whole "draft", or "nothing". `longest` limits drafts. Each round a drafter's Prospect says
how many tokens are `unread`, how long its `match` is, whether that match is `resumed` after an edit, and in a `note`
why it cannot draft.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.drafts import DrafterTraits
from specchat_engine.models import SharedPass
from specchat_engine.policy.acceptance import (
    EVIDENCE,
    Acceptance,
    Posterior,
    Trend,
    evidence_for,
    evidence_for_runner_up,
)
from specchat_engine.policy.cost_model import CostCurve, CostsByThreads, DraftCosts
from specchat_engine.policy.drift import Drift
from specchat_engine.policy.policy import Confidences, Decision, Possible, RoundOutcome, Situation, decide
from specchat_engine.policy.sharpness import Sharpness
from specchat_engine.policy.trees import Branching
from specchat_engine.settings import DRAFT_MODEL, USUAL_K

_FIRST_DRAFT = 3
"""A draft may have this many tokens more than the accepted tokens that are remembered of its drafter. So a drafter that
is sure and wrong is found out with short drafts."""

_CAP, _CAP_PER_ROUND, _CAP_LEAST, _CAP_MOST = 0.7, 0.015, -5.0, 24.0
"""An account for each kind of text, in plain rounds: no draft may be expected to lose more than it holds. What it holds
at first, what each plain round adds, and the least and the most that it may become by what drafts lose and gain."""

_NODE, _WORST, _BEST = 1.5**0.5, 0.01, 0.99
"""The low and the high acceptance of a drafter lie this many standard deviations from the mean, within these bounds:
the nodes of a quadrature with three equal weights."""

_DRAFTS, _DRAFTS_WEIGHT = 16.0, 0.3
"""The time that a drafter needs to catch up on unread tokens is spread over the drafts that it makes in an answer: this
many at first, then what it made in answers of this kind. The latest has this weight."""

_READ_WIDTH = 16
"""The cost of reading many tokens at once is first taken from target passes over this many tokens."""

_LITTLE_READ = 8
"""A round with more unread tokens measures reading, any other round measures drafting."""

_PLAIN_SEEN = 2
"""A plain pass is timed this often before anything is drafted."""

_HOLD = 6
"""A decision to draft nothing holds for this many more rounds while all matches stay as long: deciding takes a good
part of a round with small models."""

_OVERHEAD_WEIGHT = 0.1
"""The weight of the latest plain round in the average time between passes."""


class Controller:
    """Decides before each round, and learns after it. There is one for each pair, and its sessions share it.

    `targets` has the cost of target passes, `drafts` the cost of drafts by the drafter's name. Draft models all compute
    with the same number of threads. `drift` notices drafters that are accepted less often than they used to be. After
    `most_plain` plain rounds a draft is due, whatever it costs; None for a pair that is not there to be watched.
    """

    most_plain: int | None = None

    def __init__(self) -> None:
        self.threads = (0, 0)
        self.targets = CostsByThreads()
        self.drafts: dict[str, DraftCosts] = {}
        self.acceptance = Acceptance()
        self.drift = Drift()
        self._caps: dict[str, float] = {}
        self._kind = ""
        self._trends: dict[tuple[str, str], Trend] = {}
        self._made: Counter[str] = Counter()
        self._usual_drafts: dict[tuple[str, str], float] = {}
        self._overhead_ms = 0.0
        self._last_was_plain = False
        self._plain_rounds = 0
        self._held, self._held_rounds = Decision(None, 0, ""), 0
        self._held_matches: dict[DrafterTraits, tuple[int, bool]] = {}

    @property
    def target(self) -> CostCurve:
        """C(w), with the number of threads in force."""
        return self.targets.current

    def costs_of(self, drafter: str) -> DraftCosts:
        """Returns the costs of a drafter's drafts, empty at first."""
        if drafter not in self.drafts:
            self.drafts[drafter] = costs = DraftCosts()
            costs.by_threads.use(self.threads[1], self.targets.of(self.threads[1]))
        return self.drafts[drafter]

    def use_threads(self, target: int, draft: int) -> None:
        """Sets the number of threads that the target and the draft model compute with from now on."""
        if self.threads != (target, draft):
            self.threads, self._held_rounds = (target, draft), 0
        self.targets.use(target)
        same_threads = self.targets.of(draft)
        for costs in self.drafts.values():
            costs.by_threads.use(draft, same_threads)

    def beside(self) -> Controller:
        """Returns the controller of another answer at the same time: it knows the same, and decides for itself."""
        other = Controller()
        other.threads, other.targets, other.drafts = self.threads, self.targets, self.drafts
        other.acceptance, other.drift = self.acceptance, self.drift
        other._caps, other._usual_drafts, other.most_plain = self._caps, self._usual_drafts, self.most_plain
        return other

    @property
    def due(self) -> bool:
        """Whether the next round has to draft."""
        return self.most_plain is not None and self._plain_rounds >= self.most_plain

    def begin(self, kind: str) -> None:
        """Starts an answer of this kind of text."""
        for drafter, made in self._made.items():
            usual = self._usual_drafts.get((self._kind, drafter), _DRAFTS)
            self._usual_drafts[self._kind, drafter] = usual + _DRAFTS_WEIGHT * (made - usual)
        self._kind, self._made, self._trends, self._held_rounds = kind, Counter(), {}, 0
        self._plain_rounds = 0

    def decide(self, situation: Situation) -> Decision:
        """Returns who drafts in the next round, and how much."""
        if not (situation.longest and situation.prospects):
            return Decision(None, 0, "nothing may be drafted")
        alone = not situation.shared_pass.answers
        if alone and not situation.fixed and not situation.after_pause and self.target.seen(1) < _PLAIN_SEEN:
            return Decision(None, 0, "measures plain passes")
        possible = [
            (drafter, prospect)
            for drafter, prospect in situation.prospects.items()
            if not drafter.needs_match or prospect.match
        ]
        widest = situation.longest + 1 + max(drafter.beside for drafter in situation.prospects)
        verify_ms = self._verify_ms(situation, widest)
        if verify_ms is None:
            k = situation.longest if situation.fixed else min(situation.longest, USUAL_K)
            return Decision(possible[0][0], k, "nothing measured yet") if possible else Decision(None, 0, "no match")
        matches = {drafter: (prospect.match, prospect.resumed) for drafter, prospect in situation.prospects.items()}
        holds = self._held_rounds and not (situation.fixed or situation.due)
        if holds and matches == self._held_matches:
            self._held_rounds -= 1
            return self._held
        drafters = [self._possible(situation, drafter, verify_ms) for drafter, _ in possible]
        decision = decide(situation, drafters, self._cap)
        self._held, self._held_matches = decision, matches
        self._held_rounds = 0 if decision.drafter or situation.opening else _HOLD
        if decision.drafter is None or decision.explores:
            return decision
        return replace(decision, branches=self._branches(situation, decision, verify_ms))

    def learn(self, situation: Situation, decision: Decision, outcome: RoundOutcome) -> None:
        """Learns from a round that followed a decision."""
        for matching, right in outcome.matched.items():
            prospect = situation.prospects[matching]
            lengths = range(prospect.match, prospect.match + len(right))
            evidence = evidence_for(matching, prospect, opening=situation.opening)
            self._learn_tokens(matching.name, evidence, lengths, sum(right))
        drafter = decision.drafter
        tried = drafter is not None and (outcome.drafted > 0 or outcome.draft_ms > 0)
        timed = not (situation.after_pause or outcome.shared_pass.reading)
        if timed:
            self._learn_target(situation, outcome, plain=not tried)
        if outcome.shared_pass.answers:
            outcome = self._own_share(situation, outcome)
        for other in situation.prospects:
            if other is not drafter and not other.needs_match:
                self.acceptance.of(self._kind, other.name, other.evidence).forget()
        gained = _CAP_PER_ROUND
        if drafter is not None and tried:
            gained = 0.0 if situation.due else self._gained(situation, drafter, outcome)
        self._plain_rounds = 0 if tried else self._plain_rounds + 1
        self._caps[self._kind] = _within_bounds(self._cap + gained)
        if drafter is None or not tried:
            return
        self._made[drafter.name] += 1
        runner_up = evidence_for_runner_up(drafter)
        for value, replaced in outcome.runners_up:
            self._learn_tokens(drafter.name, runner_up, (value,), int(replaced))
        if drafter.needs_match:
            return
        if timed and not outcome.shared_pass.answers:
            self._learn_draft(situation, drafter, outcome)
        if drafter.evidence == "nothing":
            values: Sequence[float] = (0.0,) * outcome.compared
        else:  # passes that led to no token count as a rejected token without confidence
            values = outcome.confidence[: outcome.compared] if outcome.drafted else (0.0,)
        self._learn_tokens(drafter.name, drafter.evidence, values, outcome.accepted)
        self.drift.observe(self._kind, drafter.name, outcome.accepted, outcome.compared)

    def posterior(self, drafter: str, evidence: str) -> Posterior:
        """Returns what is known of a drafter's tokens on this kind of text, and in this answer."""
        return self.acceptance.of(self._kind, drafter, evidence).in_answer(self._trend(drafter, evidence))

    def _trend(self, drafter: str, evidence: str) -> Trend:
        return self._trends.setdefault((drafter, evidence), Trend())

    def _learn_tokens(self, drafter: str, evidence: str, values: Sequence[float], accepted: int) -> None:
        """Learns which compared tokens were accepted, for this kind of text and for this answer."""
        self.acceptance.learn(self._kind, drafter, evidence, values, accepted, self._trend(drafter, evidence))

    def sharpness(self, drafter: str) -> Sharpness:
        """Returns how much a drafter should sharpen on this kind of text."""
        return self.acceptance.sharpness(self._kind, drafter)

    def learn_reading(self, drafter: str, tokens: int, milliseconds: float) -> None:
        """Learns what it took a drafter to read some tokens outside of a round."""
        self.costs_of(drafter).learn_reading(tokens, milliseconds)

    def measured_costs(self, depth: int) -> MeasuredCosts:
        """Returns C(w) and the time of a step of the draft model, as they were timed at this depth or the nearest."""
        drafts = self.costs_of(DRAFT_MODEL).by_threads.current.timed(depth)
        usual = min(drafts, key=lambda length: abs(length - USUAL_K), default=0)
        return MeasuredCosts(tuple(self.target.timed(depth).items()), drafts[usual] / usual if usual else None)

    @property
    def _cap(self) -> float:
        return self._caps.get(self._kind, _CAP)

    def _possible(self, situation: Situation, drafter: DrafterTraits, verify_ms: Sequence[float]) -> Possible:
        """Returns what a drafter could do in the next round."""
        prospect = situation.prospects[drafter]
        evidence = evidence_for(drafter, prospect, opening=situation.opening)
        posterior = self.posterior(drafter.name, evidence)
        most = situation.longest if situation.fixed else min(situation.longest, drafter.longest)
        classify = EVIDENCE[evidence].classify
        by_class = posterior.by_class()
        if drafter.evidence == "confidence":  # known only while drafting, so every token is taken as an average one
            known = [posterior.average()] * most
        else:
            step = -1 if drafter.evidence == "certain" else 1
            known = [by_class[classify(prospect.match + step * ahead)] for ahead in range(most)]
        low, high = ([max(_WORST, min(_BEST, p + node * spread)) for p, spread in known] for node in (-_NODE, _NODE))
        mean = [p for p, _ in known]
        read_ms = self._reading_ms(situation, drafter)
        share_ms = read_ms / max(1.0, self._usual_drafts.get((self._kind, drafter.name), _DRAFTS))
        round_ms = self._round_ms(situation, drafter, verify_ms, most)
        is_sure = situation.fixed or drafter.needs_match
        confidences = None
        if drafter.evidence == "confidence":
            confidences = Confidences(tuple(p for p, _ in by_class), tuple(posterior.frequency()), classify)
        return Possible(
            drafter,
            prospect,
            accept=(low, mean, high),
            round_ms=(round_ms[0], *(each + share_ms for each in round_ms[1:])),
            sampled=most if is_sure else min(most, _FIRST_DRAFT + int(posterior.accepted)),
            reading=max(0.0, read_ms - share_ms) / round_ms[0],
            may_explore=not drafter.needs_match,  # what matches would get is seen in every round
            tried=posterior.known,
            confidences=confidences,
        )

    def _branches(self, situation: Situation, decision: Decision, verify_ms: Sequence[float]) -> Branching | None:
        """Returns what makes a tree of a draft, if that may pay. Without evidence for its tokens none is made."""
        drafter = decision.drafter
        if not situation.tree or drafter is None or drafter.evidence in ("nothing", "certain"):
            return None
        prospect = situation.prospects[drafter]
        rule = Branching(
            situation.tree,
            situation.tree_fixed,
            self.posterior(drafter.name, evidence_for(drafter, prospect, opening=situation.opening)),
            self.posterior(drafter.name, evidence_for_runner_up(drafter)),
            prospect.match,
            () if situation.fixed else verify_ms[: situation.longest + 2],
            decision.pace,
            self._draft_ms(situation, drafter, 1)[1],
        )
        return rule if rule.may_pay(decision.k + 1) else None

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
        step_ms = self._draft_ms(situation, drafter, 1)[1]
        return tokens * step_ms * wide_ms / (_READ_WIDTH * plain_ms)

    def _gained(self, situation: Situation, drafter: DrafterTraits, outcome: RoundOutcome) -> float:
        """Returns how many plain rounds a round with a draft would have gained on a quiet machine: by what passes
        usually cost, whatever they took this time."""
        width = outcome.drafted + outcome.branches + 1
        verify_ms = self._verify_ms(situation, width)
        if verify_ms is None:
            return 0.0
        drafted_ms = self._draft_ms(situation, drafter, outcome.drafted)[-1] + self._reading_ms(situation, drafter)
        took_ms, plain_ms = (self._overhead_ms + verify_ms[size] for size in (width, 1))
        return outcome.emitted - (took_ms + drafted_ms) / plain_ms

    def _round_ms(
        self, situation: Situation, drafter: DrafterTraits, verify_ms: Sequence[float], most: int
    ) -> list[float]:
        """Returns the milliseconds of a round with a draft of 0 to `most` tokens, if nothing has to be read."""
        widths = [1, *range(2 + drafter.beside, most + 2 + drafter.beside)]
        draft_ms = self._draft_ms(situation, drafter, most)
        return [self._overhead_ms + verify_ms[w] + drafting for w, drafting in zip(widths, draft_ms, strict=True)]

    def _draft_ms(self, situation: Situation, drafter: DrafterTraits, most: int) -> list[float]:
        """Returns the milliseconds of drafts of 0 to `most` tokens. Other answers that share the passes follow the same
        policy, so they draft at the same time, and each bears its part."""
        plain_ms = self.target.at(1, situation.depth)
        if not plain_ms:
            return [0.0] * (most + 1)
        answers, depth = situation.shared_pass.answers, situation.depth
        part = (self.target.at(1 + answers, depth) or plain_ms) / plain_ms / (1 + answers)
        return [part * each for each in self.costs_of(drafter.name).expected(drafter, depth, most, plain_ms)]

    def _learn_target(self, situation: Situation, outcome: RoundOutcome, *, plain: bool) -> None:
        """Learns what the target's pass took. The first plain pass after a draft takes longer than others, so it only
        counts if there is no other."""
        first_after_draft, self._last_was_plain = plain and not self._last_was_plain, plain
        if not first_after_draft or not self.target.seen(1):
            width = outcome.drafted + outcome.branches + 1 + outcome.shared_pass.tokens
            self.target.observe(width, situation.depth, outcome.verify_ms)
        if plain and not outcome.shared_pass.answers:
            self._overhead_ms += _OVERHEAD_WEIGHT * (outcome.other_ms - self._overhead_ms)

    def _learn_draft(self, situation: Situation, drafter: DrafterTraits, outcome: RoundOutcome) -> None:
        """Learns what a draft took, including the time that it added between passes."""
        costs, prospect = self.costs_of(drafter.name), situation.prospects[drafter]
        plain_ms = self.target.at(1, situation.depth)
        spent_ms = outcome.draft_ms + max(0.0, outcome.other_ms - self._overhead_ms)
        if not (outcome.drafted and plain_ms):
            return
        if prospect.unread > _LITTLE_READ:
            draft_ms = self._draft_ms(situation, drafter, outcome.drafted)[outcome.drafted]
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
        shared_pass = situation.shared_pass
        others = round(shared_pass.usual_tokens)
        curve = self.target.curve(situation.depth, others + widest)
        if curve is None or not shared_pass.answers:
            return curve
        plain_ms = curve[others + 1]
        own_ms = _own_part(plain_ms, shared_pass)
        return [0.0, *(own_ms + shared_ms - plain_ms for shared_ms in curve[others + 1 :])]

    def _own_share(self, situation: Situation, outcome: RoundOutcome) -> RoundOutcome:
        """A round whose passes others shared, with its own part of the times, as in `_verify_ms`."""
        shared_pass = outcome.shared_pass
        plain_ms = self.target.at(shared_pass.tokens + 1, situation.depth) or outcome.verify_ms
        own_ms = self._plain_ms(situation.depth, shared_pass) or _own_part(outcome.verify_ms, shared_pass)
        return replace(
            outcome,
            verify_ms=max(own_ms, own_ms + outcome.verify_ms - plain_ms),
            draft_ms=outcome.draft_ms * shared_pass.draft_share,
        )

    def _plain_ms(self, depth: int, shared_pass: SharedPass) -> float:
        """What a plain pass costs an answer; 0 before one was timed."""
        return _own_part(self.target.at(1 + round(shared_pass.usual_tokens), depth) or 0.0, shared_pass)

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next start."""
        return {
            "target": self.targets.to_json(),
            "drafts": {name: costs.to_json() for name, costs in self.drafts.items()},
            "acceptance": self.acceptance.to_json(),
            "caps": {kind: round(cap, 3) for kind, cap in self._caps.items()},
            "usual": self.drift.to_json(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Controller:
        """Reads what `to_json` wrote; missing fields are as if nothing had been learned. Raises ValueError for anything
        else."""
        controller = cls()
        try:
            controller.targets = CostsByThreads.from_json(record["target"])
            controller.drafts = {
                str(name): DraftCosts.from_json(costs) for name, costs in record.get("drafts", {}).items()
            }
            controller.acceptance = Acceptance.from_json(record.get("acceptance", {}))
            controller._caps = {str(kind): _within_bounds(float(cap)) for kind, cap in record.get("caps", {}).items()}
            controller.drift.take(record.get("usual", {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is not a record of a pair: {error}") from error
        return controller


def _within_bounds(cap: float) -> float:
    return max(_CAP_LEAST, min(_CAP_MOST, cap))


def _own_part(plain_ms: float, shared_pass: SharedPass) -> float:
    """What a plain pass costs one of the answers that share it: as much of it as of the tokens; all of it alone."""
    return plain_ms / (1 + shared_pass.usual_emitted)
