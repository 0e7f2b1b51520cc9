"""Rounds that were made, until the controller learns from several of them together: one by one, right behind passes
over the weights, that would take several times as long."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.books import Made, Timed
from specchat_engine.control.controller import Controller
from specchat_engine.control.patience import Patience
from specchat_engine.control.situation import Decision, Outcome, Situation
from specchat_engine.generate import Step

Place = tuple[int, int, bool]
"""Where a plan was used again: how many tokens the context had, how many of them the draft model had not read, and
whether the models had rested. All else is as it was when that was planned, but that no match was looked for."""

Counts = tuple[int, int, int, int]
"""How many tokens were drafted, accepted, compared and emitted."""

Waiting = tuple[Situation, Place | None, Decision, Counts, Sequence[float], float, Sequence[bool], Made, int, int]
"""Where the round was planned, and made, if that is not the same; what was decided; what became of its draft, how sure
the drafter was, what its first pass took; what was foretold; its times, what of them belongs to no round in
nanoseconds, and how many plain rounds were made like it before it."""


class Heard:
    """The rounds of a session that nobody learned from yet."""

    def __init__(self, controller: Controller, patience: Patience) -> None:
        """The controller is to learn from each of them, and patience to hear what they took."""
        self._controller = controller
        self._patience = patience
        self._waiting: list[Waiting] = []
        self._since: Made | None = None
        self._skipped = self._tested = self._opens = 0

    @property
    def tested(self) -> int:
        """How many tokens of the draft model were compared in this turn, in the rounds that were learned from."""
        return self._tested

    def begin(self, opens: int) -> None:
        """A turn begins, whose answer has but begun while the context has fewer than `opens` tokens."""
        self._skipped = self._tested = 0
        self._opens, self._since = opens, None

    def skip(self) -> None:
        """A plain round is made like the one before it, of which nothing is said."""
        self._skipped += 1

    def hear(
        self,
        planned: Situation,
        place: Place | None,
        decision: Decision,
        step: Step,
        foretold: Sequence[bool],
        made: Made,
        away_ns: int,
    ) -> None:
        """A round was made, with all that were skipped before it."""
        draft, verdict = step.draft, step.verdict
        counts = len(draft.tokens), verdict.accepted, len(verdict.judged), step.kept
        sure, first_ms, skipped = draft.confidence, draft.first_ms, self._skipped
        self._waiting.append((planned, place, decision, counts, sure, first_ms, foretold, made, away_ns, skipped))
        self._skipped = 0

    def settle(self) -> None:
        """Learns from all of them."""
        waiting, self._waiting = self._waiting, []
        for planned, place, decision, counts, sure, first_ms, foretold, made, away_ns, skipped in waiting:
            now, timed, since = planned, Timed(made), self._since
            if place:
                now = self._there(planned, *place)
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
                self._tested += compared
            self._controller.learn(now, decision, outcome)
            if not now.rested:
                self._patience.took(outcome.milliseconds)

    def _there(self, planned: Situation, depth: int, unread: int, rested: bool) -> Situation:
        return Situation(
            depth,
            unread,
            0,
            planned.longest,
            planned.model,
            planned.lookup,
            planned.free,
            planned.ahead,
            opening=depth < self._opens,
            rested=rested,
        )
