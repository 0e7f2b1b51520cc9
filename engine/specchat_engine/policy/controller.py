"""Which drafter and which k: decided before each round, learned from each.

docs/adaptive.md tells the rule and its traps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from specchat_engine.analysis.theory import expected_tokens
from specchat_engine.policy import draft_costs
from specchat_engine.policy.acceptance import ALL, POSITIONS, Habits, matches_from
from specchat_engine.policy.best_draft import BestDraft, Terms
from specchat_engine.policy.choice import Option, best_option
from specchat_engine.policy.costs import PassCosts, following
from specchat_engine.policy.plain_runs import PlainRuns
from specchat_engine.policy.situation import Decision, Outcome, Situation
from specchat_engine.policy.stopping import EarlyStop
from specchat_engine.policy.tables import CostTables
from specchat_engine.policy.tries import Tries
from specchat_engine.settings import USUAL_K

_TARGET_SLOPE, _DRAFT_SLOPE = 0.35, 0.15
"""What a further token in a pass costs, in units of a pass over one, before that was measured."""

_PATIENCE = 0.95
"""The pace that a round has to beat, as a share of the one that was reached of late."""

_PACE_FOLLOWS = 0.1
_CATCH_UP_ROUNDS = 8
"""What a draft model has not read yet is paid by so many rounds."""

_HOPED = 0.95
"""What a draft model that is tried again may be hoped to be accepted with."""

WORTH_IT = 1.04
"""The draft model drafts where that promises so many times the speed of plain rounds. Of estimates near 1 those above
it are mostly too high: stories in Q4_K_M that promised 1.00 to 1.05 went at 0.93 to 1.00."""

_TOLD = 16
"""So many trials, of which old ones fade, are enough to know a kind of text: some 32 tokens, or a record."""

_LONGEST_DRAFT, _LONGEST_MATCH = 16, 31
"""The most tokens that the draft model and lookup draft where k is free: longer drafts of the model never paid, and
kernels go through tokens in fours, eights or sixteens: a pass over 33 takes up to 1.16 times one over 32."""


class Controller:
    """Learns what a pair's passes cost and what is accepted by kind of text, and decides by both.

    `target` and `draft` hold the passes alone, with the thread counts in force; `targets` and `drafts` those of all
    counts. What else a round takes counts as it was in plain rounds, and what drafting adds to that belongs to the
    draft's steps.
    """

    def __init__(self) -> None:
        self.threads = (0, 0)
        self.targets, self.drafts = CostTables(slope=_TARGET_SLOPE), CostTables(slope=_DRAFT_SLOPE)
        self._habits: dict[str, Habits] = {}
        self._now = Habits()
        self._found: BestDraft | None = None
        self._pace = self._unmatched_pace = 0.0
        self._between_ms = 0.0
        self._plain_runs = PlainRuns()
        self._tries: dict[str, Tries] = {}
        self._try = Tries()

    @property
    def target(self) -> PassCosts:
        """What passes of the target cost."""
        return self.targets.now

    @property
    def draft(self) -> PassCosts:
        """What passes of the draft model cost."""
        return self.drafts.now

    @property
    def hopeless(self) -> bool:
        """Whether drafts lost time in the last answer of this kind, so that this one may need no draft model."""
        return self._try.in_vain > 0

    @property
    def knows(self) -> bool:
        """Whether this kind of text has told how well the draft model follows it, so that answers tell little more."""
        return self._now.tested.tried(_TOLD)

    def use_threads(self, target: int, draft: int) -> None:
        """The models compute with so many threads from now on: costs are those of these counts, habits stay."""
        if self.threads != (target, draft):
            self.threads = target, draft
            self._pace = self._unmatched_pace = 0.0
            self.targets.use(target)
            self.drafts.use(draft)

    def begin(self, kind: str) -> None:
        """An answer of this kind of text begins."""
        self._now, self._found = self._habits.setdefault(kind, Habits()), None
        self._try = self._tries.setdefault(kind, Tries())
        self._pace = self._unmatched_pace = 0.0
        self._try.begin()

    def decide(self, now: Situation) -> Decision:
        """The next round's draft."""
        longest = min(now.longest, _LONGEST_MATCH if now.free else POSITIONS)
        if not (longest and (now.model or now.lookup)):
            return Decision("none", 0, "nothing may be drafted")
        verify_ms = self.target.curve(now.depth, POSITIONS + 1)
        if now.free and not now.rested and self._plain_runs.are_due(self.target.seen(1)):
            return Decision("none", 0, "measures plain passes", besides=self._plain_runs.missing - 1)
        if verify_ms is None:
            source = "lookup" if now.lookup and now.match else "model" if now.model else "none"
            k = min(longest, USUAL_K) if now.free else longest
            return Decision(source, k if source != "none" else 0, "nothing measured yet")
        plain = Option(0, 1.0, verify_ms[1] + self._between_ms)
        pace = max(plain.rate, _PATIENCE * self._pace)
        unmatched = max(plain.rate, _PATIENCE * self._unmatched_pace)
        lengths = range(1 if now.free else longest, longest + 1)
        best, source, reason = plain, "none", "no match"
        probe = 0
        if now.model:
            draft_ms = draft_costs.expected_ms(self.draft, now.depth, verify_ms[1])
            terms = Terms(*self._drafting_ms(now, draft_ms), unmatched, lengths[:_LONGEST_DRAFT], now.free)
            of_model = self._best_draft(verify_ms, terms)
            option = of_model.option
            gain = option.rate / plain.rate
            if gain > WORTH_IT or not now.free:
                best, source, reason = option, "model", f"{gain:.2f} × plain expected"
            else:
                reason = f"a draft gives {gain:.2f} × plain"
                probe, why = self._probe(now, verify_ms, longest, draft_ms)
                if probe:
                    best, source, reason = Option(probe, 1.0, plain.milliseconds), "model", why
        if now.lookup and now.match:
            option = self._of_lookup(now, verify_ms, pace, lengths)
            gain = option.rate / plain.rate
            better = option.value(pace) > best.value(pace) and (gain > 1 or not now.free)
            if better or (source == "none" and not now.free):
                best, source, probe = option, "lookup", 0
                reason = f"match of {now.match}{' behind an edit' * now.resumed}, {gain:.2f} × plain expected"
        if source != "none":
            self._plain_runs.expect(best.rate / plain.rate, best.tokens, verify_ms[1])
        k, stop = of_model.end if source == "model" and now.free and not probe else (best.k, None)
        return Decision(source, k, reason, stop, bool(probe), not probe, best.milliseconds, best.tokens)

    def learn(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        """Counts what became of a decision; passes of the draft model that led to no token are a draft that fails."""
        self._found, habits, drafted = None, self._now, outcome.drafted
        in_vain = not drafted and outcome.draft_ms > 0
        self._plain_runs.passed(outcome.rounds, not (drafted or in_vain or now.rested), outcome.verify_ms)
        if not now.rested:
            self._learn_pace(now, decision, outcome)
        if outcome.foretold:
            by_match = habits.of_matches(now.opening, now.resumed)
            by_match.observe(matches_from(now.match, len(outcome.foretold)), sum(outcome.foretold))
        if decision.source != "model" or not (drafted or in_vain):
            self._try.rested(outcome.rounds)
            return
        compared = max(outcome.compared, in_vain)
        if now.rested:
            self._try.used(0.0)
        else:
            self._try.used(outcome.emitted - self._in_plain_rounds(now.depth, outcome.milliseconds))
            draft_costs.learn(self.draft, now, drafted + now.ahead, outcome, self._between_ms)
        goes = min(decision.k, drafted + 1)
        habits.learn(goes, drafted, outcome.accepted, compared, outcome.confidence[: outcome.compared])

    def imagine(self, depth: int, longest: int) -> tuple[int, EarlyStop | None, float]:
        """The best draft that the model could make, whether it pays or not: at most how many tokens, where it ends, and
        how many times as fast as a plain round it is expected to be, infinity where nothing is known of that."""
        found = self._imagined(depth, longest)
        if found is None:
            return min(longest, USUAL_K, _LONGEST_DRAFT), None, math.inf
        return *found.end, self._gain(found)

    def promises(self, depth: int, longest: int) -> bool:
        """Whether a draft of the model is expected to pay at such a depth, or nothing is known of that."""
        found = self._imagined(depth, longest) if longest > 0 else None
        return longest > 0 and (found is None or self._gain(found) > WORTH_IT)

    def rehearsed(self, goes: int, accepted: int, confidence: Sequence[float]) -> None:
        """A draft that nobody made would have gone so far, and so much of it been accepted; see `Habits.learn`."""
        drafted = len(confidence)
        self._now.learn(goes, drafted, accepted, drafted, confidence)
        self._found = None
        self._try.rehearsed = True

    def read(self, depth: int, milliseconds: float) -> None:
        """The draft model read tokens apart from any round, which what it drafts has to be worth as well."""
        self._try.spent(self._in_plain_rounds(depth, milliseconds))

    def _in_plain_rounds(self, depth: int, milliseconds: float) -> float:
        """A time in units of a plain round; 0 before one has been seen."""
        plain_ms = self.target.at(1, depth)
        return milliseconds / (plain_ms + self._between_ms) if plain_ms else 0.0

    def _probe(
        self, now: Situation, verify_ms: Sequence[float], longest: int, draft_ms: tuple[float, float]
    ) -> tuple[int, str]:
        """How many tokens to draft although no gain is expected, and why: 0 where it is not worth finding out more.

        That is the shortest draft that would be faster than plain rounds if it were accepted as is to be hoped.
        """
        if now.opening:
            return 0, ""
        (first_ms, step_ms), plain_ms = draft_ms, verify_ms[1] + self._between_ms

        def extra_ms(k: int) -> float:
            return verify_ms[k + 1] - verify_ms[1] + first_ms + (k - 1 + now.ahead) * step_ms

        lengths = range(1, min(longest, _LONGEST_DRAFT // 2) + 1)
        k = next((k for k in lengths if (expected_tokens(_HOPED, k) - 1) * plain_ms > extra_ms(k)), 0)
        if not k and self._try.due:
            k = min(longest, USUAL_K)
        read_ms, known = draft_costs.reading_ms(self.draft, now, first_ms), self._now.tested.tried(1)
        if not known:  # there is more to be found out than what this answer gains by it
            read_ms /= _CATCH_UP_ROUNDS
        if not (k and self._try.affords((extra_ms(k) + read_ms) / plain_ms)):
            return 0, ""
        again = known and self._try.idle
        return k, f"tried again after {self._try.idle} rounds" if again else "not tried enough on this kind of text"

    def _drafting_ms(self, now: Situation, draft_ms: tuple[float, float]) -> tuple[float, float]:
        """A draft step, and all that a round with a draft takes beside the target's pass and its steps."""
        first_ms, step_ms = draft_ms
        read_ms = draft_costs.reading_ms(self.draft, now, first_ms)
        return step_ms, self._between_ms + first_ms + (now.ahead - 1) * step_ms + read_ms / _CATCH_UP_ROUNDS

    def _imagined(self, depth: int, longest: int) -> BestDraft | None:
        """The best draft where the draft model has read all that there is, None where nothing was measured yet."""
        verify_ms = self.target.curve(depth, POSITIONS + 1)
        if verify_ms is None:
            return None
        longest = min(longest, _LONGEST_DRAFT)
        now = Situation(depth, unread=1, match=0, longest=longest, model=True, lookup=False)
        draft_ms = draft_costs.expected_ms(self.draft, depth, verify_ms[1])
        rate = Option(0, 1.0, verify_ms[1] + self._between_ms).rate
        terms = Terms(*self._drafting_ms(now, draft_ms), rate, range(1, longest + 1), free=True)
        return self._best_draft(verify_ms, terms)

    def _gain(self, found: BestDraft) -> float:
        """How many times as fast as a plain round it is expected to be, infinity where nothing is known of that."""
        return found.option.rate / found.terms.pace if self._now.tested.tried(1) else math.inf

    def _best_draft(self, verify_ms: Sequence[float], terms: Terms) -> BestDraft:
        """The best draft of the model: what was found last, where that was asked and nothing was learned since."""
        found = self._found
        if found is None or found.verify_ms is not verify_ms or found.terms != terms:
            found = self._found = BestDraft(self._now, verify_ms, terms)
        return found

    def _of_lookup(self, now: Situation, verify_ms: Sequence[float], pace: float, lengths: range) -> Option:
        shares = self._now.of_matches(now.opening, now.resumed).all()
        stands = [shares[found] for found in matches_from(now.match, lengths.stop - 1)]
        return best_option(stands, ALL, verify_ms, 0.0, self._between_ms, pace, lengths)

    def _learn_pace(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        """What the target's pass took, what a plain round takes besides, and how many tokens a millisecond brought."""
        if not self._plain_runs.begins or not self.target.seen(1):
            self.target.observe(outcome.drafted + 1, now.depth, outcome.verify_ms)
        if not outcome.drafted and not outcome.draft_ms:
            share = 1 - (1 - _PACE_FOLLOWS) ** outcome.rounds
            self._between_ms = following(self._between_ms, outcome.other_ms, share)
        rate = outcome.emitted / max(outcome.milliseconds, 1e-6)
        self._pace = following(self._pace, rate, _PACE_FOLLOWS)
        if decision.source != "lookup":
            self._unmatched_pace = following(self._unmatched_pace, rate, _PACE_FOLLOWS)

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time."""
        return {
            "target": self.targets.to_json(),
            "draft": self.drafts.to_json(),
            "habits": {kind: habits.to_json() for kind, habits in self._habits.items()},
            "tries": {kind: tries.to_json() for kind, tries in self._tries.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Controller:
        """Reads what `to_json` wrote. Raises ValueError for anything else."""
        controller = cls()
        try:
            controller.targets = CostTables.from_json(kept["target"], slope=_TARGET_SLOPE)
            controller.drafts = CostTables.from_json(kept["draft"], slope=_DRAFT_SLOPE)
            controller._habits = {str(kind): Habits.from_json(habits) for kind, habits in kept["habits"].items()}
            controller._tries = {str(kind): Tries.from_json(tries) for kind, tries in kept.get("tries", {}).items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no record of a pair: {error}") from error
        return controller
