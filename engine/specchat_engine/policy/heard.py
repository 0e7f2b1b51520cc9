"""Rounds that were made, until the controller learns from several of them together: one by one, right behind passes
over the weights, that would take several times as long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specchat_engine.decoding.books import Made, Timed
from specchat_engine.decoding.generate import Step
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.patience import Patience
from specchat_engine.policy.situation import Decision, Outcome, Situation

Place = tuple[int, int, bool]
"""Where a plan was used again: how many tokens the context had, how many of them the draft model had not read, and
whether the models had rested. All else is as it was when that was planned, but that no match was looked for."""

Counts = tuple[int, int, int, int]
"""How many tokens were drafted, accepted, compared and emitted."""

Waiting = tuple[Situation | Place, Decision, Counts, Sequence[float], float, Sequence[bool], Made, int, int]
"""Where the round was made; what was decided; what became of its draft, how sure the drafter was, what its first pass
took; what was foretold; its times, what of them belongs to no round in nanoseconds, and how many plain rounds were made
like it before it."""


class Heard:
    """The rounds of a session that nobody learned from yet."""

    def __init__(self, controller: Controller, patience: Patience) -> None:
        """The controller is to learn from each of them, and patience to hear what they took."""
        self._controller = controller
        self._patience = patience
        self._waiting: list[Waiting] = []
        self._planned = Situation(0, 0, 0, 0, model=False, lookup=False)
        self._since: Made | None = None
        self._skipped = self._opens = 0
        self.tested = 0
        """How many tokens of the draft model were compared in this turn, in the rounds that were learned from."""

    def begin(self, opens: int) -> None:
        """A turn begins, whose answer has but begun while the context has fewer than `opens` tokens."""
        self._skipped = self.tested = 0
        self._opens, self._since = opens, None

    def skip(self) -> None:
        """A plain round is made like the one before it, of which nothing is said."""
        self._skipped += 1

    def hear(
        self,
        now: Situation | Place,
        decision: Decision,
        step: Step,
        foretold: Sequence[bool],
        made: Made,
        away_ns: int,
    ) -> None:
        """A round was made, with all that were skipped before it; `away_ns` of its time belong to none."""
        draft, verdict = step.draft, step.verdict
        counts = len(draft.tokens), verdict.accepted, len(verdict.judged), step.kept
        sure, first_ms, skipped = draft.confidence, draft.first_ms, self._skipped
        self._waiting.append((now, decision, counts, sure, first_ms, foretold, made, away_ns, skipped))
        self._skipped = 0

    def settle(self) -> None:
        """Learns from all of them."""
        waiting, self._waiting = self._waiting, []
        for told, decision, counts, sure, first_ms, foretold, made, away_ns, skipped in waiting:
            now = self._planned = told if isinstance(told, Situation) else self._again(*told)
            timed, since = Timed(made), self._since
            drafted, accepted, compared, emitted = counts
            times = timed.times
            other_ms = times.other + times.rollback - away_ns / 1e6
            if skipped and since and decision.source == "none":  # which were not looked at are cheaper
                other_ms = min(other_ms, timed.other_ms_since(Timed(since)) / skipped)
            outcome = Outcome(
                drafted=drafted,
                accepted=accepted,
                compared=compared,
                emitted=emitted,
                confidence=sure,
                foretold=foretold,
                verify_ms=times.verify,
                draft_ms=times.draft,
                other_ms=other_ms,
                rounds=1 + skipped,
                first_ms=first_ms,
            )
            self._since = made
            if decision.source == "model":
                self.tested += compared
            self._controller.learn(now, decision, outcome)
            if not now.rested:
                self._patience.took(outcome.milliseconds)

    def _again(self, depth: int, unread: int, rested: bool) -> Situation:
        """Where a plan was used again."""
        opening, before = depth < self._opens, self._planned
        return replace(before, depth=depth, unread=unread, match=0, opening=opening, resumed=False, rested=rested)
