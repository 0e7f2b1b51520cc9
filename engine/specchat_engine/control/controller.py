"""Which drafter and which k: decided before each round, learned from each.

docs/adaptive.md tells the rule and its traps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specchat_engine.control.acceptance import POSITIONS, Habits, confidence_class, matches_from
from specchat_engine.control.choice import Option, best_option
from specchat_engine.control.costs import PassCosts

_USUAL_DRAFT = 0.1
"""A draft step in units of a plain target pass, before one was seen."""

_PATIENCE = 0.95
"""The pace that a round has to beat, as a share of the one that was reached of late."""

_PACE_FOLLOWS = 0.1
_CATCH_UP_ROUNDS = 8
"""What a draft model has not read yet is paid by so many rounds."""

_FIRST_SHARE, _LAST_SHARE = 0.06, 0.012
"""The share of the time that may go into trying the draft model again; a failure halves it."""

_ALL = (1.0,) * POSITIONS
_LONGEST_DRAFT = 16
"""The most tokens that a draft model drafts where k is free: longer drafts have never paid."""

_FIRST_DRAFT = 3
"""The most tokens of a model's draft before any of its tokens was compared on a kind of text."""


@dataclass(slots=True)
class Situation:
    """What a round can be made of.

    `depth` tokens in the context; `unread` of them the draft model has not read, the last one included; `match` is the
    length of prompt lookup's match, 0 without one. `model` and `lookup` say who may draft, at most `longest` tokens.
    Where k is not `free`, it is to be `longest`.
    """

    depth: int
    unread: int
    match: int
    longest: int
    model: bool
    lookup: bool
    free: bool = True


@dataclass(slots=True)
class Decision:
    """Who drafts, at most how many tokens, and why; `worth_more` ends a draft early, where that may be."""

    source: str
    k: int
    reason: str
    worth_more: Callable[[float], bool] | None = None
    probe: bool = False


@dataclass(slots=True)
class Outcome:
    """What became of a round: its draft, how much of it stood and was compared, and its times in milliseconds.

    `foretold[i]` says whether prompt lookup's token i was right, for those that the round's tokens tested.
    """

    drafted: int
    accepted: int
    compared: int
    emitted: int
    confidence: Sequence[float]
    foretold: Sequence[bool]
    verify_ms: float
    draft_ms: float
    other_ms: float


class Controller:
    """Learns what a pair's passes cost and what is accepted by kind of text, and decides by both.

    `target` holds what a round costs beside its draft, the work between two passes included; `draft` the draft's
    passes alone.
    """

    def __init__(self) -> None:
        self.target, self.draft = PassCosts(slope=0.35), PassCosts(slope=0.15)
        self._habits: dict[str, Habits] = {}
        self._now = Habits()
        self._pace = 0.0
        self._idle = 0
        self._share = _FIRST_SHARE

    def begin(self, kind: str) -> None:
        """An answer of this kind of text begins."""
        self._now = self._habits.setdefault(kind, Habits())
        self._pace, self._idle, self._share = 0.0, 0, _FIRST_SHARE

    def decide(self, now: Situation) -> Decision:
        """The next round's draft."""
        longest = min(now.longest, POSITIONS)
        if not (longest and (now.model or now.lookup)):
            return Decision("none", 0, "nothing may be drafted")
        verify_ms = self.target.curve(now.depth, longest + 1)
        if verify_ms is None:
            return self._unmeasured(now, longest)
        plain = Option(0, 1.0, verify_ms[1])
        pace = max(plain.rate, _PATIENCE * self._pace)
        lengths = range(1 if now.free else longest, longest + 1)
        known = not now.free or self._now.tested.tried
        best, source, reason = plain, "none", "no match"
        probe = False
        if now.model:
            most = _LONGEST_DRAFT if known else _FIRST_DRAFT
            option = self._of_model(now, verify_ms, pace, lengths[:most])
            gain = option.rate / plain.rate
            if gain > 1 or not (known and now.free):
                best, source, reason = option, "model", f"{gain:.2f} × plain expected"
            else:
                reason = f"a draft gives {gain:.2f} × plain"
                probe = self._may_try(now, verify_ms)
                if probe:
                    best, source = Option(1, 1.0, plain.milliseconds), "model"
                    reason = f"tried again after {self._idle} rounds"
        if now.lookup and now.match:
            option = self._of_lookup(now, verify_ms, pace, lengths)
            gain = option.rate / plain.rate
            better = option.value(pace) > best.value(pace) and (gain > 1 or not now.free)
            if better or (source == "none" and not now.free):
                best, source, probe = option, "lookup", False
                reason = f"match of {now.match}, {gain:.2f} × plain expected"
        stops = now.free and source == "model" and not probe
        worth_more = self._stopping(now, verify_ms, max(best.rate, pace)) if stops else None
        return Decision(source, best.k, reason, worth_more, probe)

    def learn(self, now: Situation, decision: Decision, outcome: Outcome) -> None:
        """Counts what became of a decision."""
        habits, drafted = self._now, outcome.drafted
        self.target.observe(drafted + 1, now.depth, outcome.verify_ms + outcome.other_ms)
        rate = outcome.emitted / max(outcome.verify_ms + outcome.draft_ms + outcome.other_ms, 1e-6)
        self._pace += (_PACE_FOLLOWS if self._pace else 1.0) * (rate - self._pace)
        for found, hit in zip(matches_from(now.match, len(outcome.foretold)), outcome.foretold, strict=True):
            habits.by_match.observe(found, hit)
        if decision.source != "model" or not drafted:
            self._idle += 1
            return
        self._idle = 0
        failed = decision.probe and not outcome.accepted
        self._share = max(self._share / 2, _LAST_SHARE) if failed else _FIRST_SHARE
        self._learn_draft_cost(now, drafted, outcome.draft_ms)
        for place in range(decision.k):
            if place <= drafted:
                habits.longer.observe(place, place < drafted)
            if place <= outcome.accepted:
                habits.chain.observe(place, place < outcome.accepted)
        for place in range(outcome.compared):
            habits.tested.observe(0, place < outcome.accepted)
        for place, confidence in enumerate(outcome.confidence[: outcome.compared]):
            habits.by_confidence.observe(confidence_class(confidence), place < outcome.accepted)

    def _unmeasured(self, now: Situation, longest: int) -> Decision:
        """The very first round."""
        if now.free:
            return Decision("none", 0, "measures a plain pass")
        source = "lookup" if now.lookup and now.match else "model" if now.model else "none"
        return Decision(source, longest if source != "none" else 0, "nothing measured yet")

    def _may_try(self, now: Situation, verify_ms: Sequence[float]) -> bool:
        """Whether a draft of one token, which could pay at best, costs little beside the rounds since the last one."""
        draft_ms = self.draft.at(now.unread, now.depth) or _USUAL_DRAFT * verify_ms[1]
        if 2 * verify_ms[1] <= verify_ms[2] + self._draft_ms(now, Option(0, 1.0, verify_ms[1])):
            return False
        return verify_ms[2] - verify_ms[1] + draft_ms <= self._share * self._idle * verify_ms[1]

    def _of_model(self, now: Situation, verify_ms: Sequence[float], pace: float, lengths: range) -> Option:
        habits, count = self._now, lengths.stop - 1
        draft_ms = self._draft_ms(now, Option(0, 1.0, verify_ms[1]))
        unread_ms = self.draft.at(now.unread, now.depth) or draft_ms
        first_ms = max(0.0, unread_ms - draft_ms) / _CATCH_UP_ROUNDS
        longer = habits.longer.all() if now.free else _ALL
        return best_option(habits.chain.each(count), longer, verify_ms, draft_ms, first_ms, pace, lengths)

    def _of_lookup(self, now: Situation, verify_ms: Sequence[float], pace: float, lengths: range) -> Option:
        shares, count = self._now.by_match.all(), lengths.stop - 1
        stands = [shares[found] for found in matches_from(now.match, count)]
        return best_option(stands, _ALL, verify_ms, 0.0, 0.0, pace, lengths)

    def _stopping(self, now: Situation, verify_ms: Sequence[float], pace: float) -> Callable[[float], bool]:
        """Whether drafting another token pays, told the confidence of each token that was drafted."""
        habits = self._now
        draft_ms = self._draft_ms(now, Option(0, 1.0, verify_ms[1]))
        next_stands = habits.tested.at(0)
        reach, width = 1.0, 1

        def worth_more(confidence: float) -> bool:
            nonlocal reach, width
            reach *= habits.by_confidence.at(confidence_class(confidence))
            width += 1
            if width + 1 >= len(verify_ms):
                return False
            return reach * next_stands > pace * (draft_ms + verify_ms[width + 1] - verify_ms[width])

        return worth_more

    def _draft_ms(self, now: Situation, plain: Option) -> float:
        return self.draft.at(1, now.depth) or _USUAL_DRAFT * plain.milliseconds

    def _learn_draft_cost(self, now: Situation, drafted: int, draft_ms: float) -> None:
        """A draft's passes are timed together: the first reads what was unread, the others one token each."""
        step_ms = self.draft.at(1, now.depth)
        if now.unread == 1 or step_ms is None:
            self.draft.observe(1, now.depth, draft_ms / drafted)
        else:
            self.draft.observe(now.unread, now.depth, max(step_ms, draft_ms - (drafted - 1) * step_ms))

    def to_json(self) -> dict[str, Any]:
        """What to keep for the next time."""
        return {
            "target": self.target.to_json(),
            "draft": self.draft.to_json(),
            "habits": {kind: habits.to_json() for kind, habits in self._habits.items()},
        }

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Controller:
        """Reads what `to_json` wrote. Raises ValueError for anything else."""
        controller = cls()
        try:
            controller.target = PassCosts.from_json(kept["target"], slope=0.35)
            controller.draft = PassCosts.from_json(kept["draft"], slope=0.15)
            controller._habits = {str(kind): Habits.from_json(habits) for kind, habits in kept["habits"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no record of a pair: {error}") from error
        return controller
