"""Steps in token ids become rounds with texts, probabilities and times."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

from specchat_engine.generate import Step
from specchat_engine.rounds import Candidate, DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.transcript import Transcript

BEST = 5
"""So many of the target's candidates are kept for the round's last position."""


class Busy(Protocol):
    """Anything that sums up how long its passes took, and how long it took to go back behind some of them."""

    busy_ns: int
    rollback_ns: int


class Recorder:
    """Makes the rounds of one turn, in order. Its clock starts when it is made."""

    def __init__(
        self, target: Busy, draft: Busy | None, piece: Callable[[int], bytes], transcript: Transcript, began_ns: int
    ) -> None:
        """`began_ns` is the turn's beginning on `perf_counter_ns`; the decoding time is counted from now on.

        What the transcript holds already belongs to no round.
        """
        self._target = target
        self._draft = draft
        self._piece = piece
        self._transcript = transcript
        self._began_ns = began_ns
        self._index = 0
        self._emitted = len(transcript.texts)
        self._mark = self._marks()

    def leave_out(self) -> None:
        """What was done since the last round belongs to no round."""
        self._mark = self._marks()

    def hold(self, wait: Callable[[], None]) -> None:
        """Lets the answer wait: that is no part of the turn at all."""
        arrived = perf_counter_ns()
        wait()
        waited = perf_counter_ns() - arrived
        now, draft, verify, rollback = self._mark
        self._mark = now + waited, draft, verify, rollback
        self._began_ns += waited

    def record(self, step: Step) -> Round:
        """The round of the step that the loop just made."""
        drafted, token = self._tokens(step)
        self._emitted += step.kept
        marks = now, draft, verify, rollback = self._marks()
        draft_ms = (draft - self._mark[1]) / 1e6
        verify_ms = (verify - self._mark[2]) / 1e6
        rollback_ms = (rollback - self._mark[3]) / 1e6
        other_ms = (now - self._mark[0]) / 1e6 - draft_ms - verify_ms - rollback_ms
        self._mark = marks
        event = Round(
            index=self._index,
            source=step.draft.source if step.draft.tokens else "none",
            k=step.plan.k,
            reason=step.draft.note or step.plan.reason,
            drafted=drafted,
            token=token,
            top=self._top(step),
            ms=RoundTimes(draft_ms, verify_ms, other_ms, rollback_ms),
            t_ms=(now - self._began_ns) / 1e6,
        )
        self._index += 1
        return event

    def _marks(self) -> tuple[int, int, int, int]:
        target, draft = self._target, self._draft
        if draft is None:
            return perf_counter_ns(), 0, target.busy_ns, target.rollback_ns
        return perf_counter_ns(), draft.busy_ns, target.busy_ns, target.rollback_ns + draft.rollback_ns

    def _tokens(self, step: Step) -> tuple[tuple[DraftedToken, ...], TargetToken]:
        draft, verdict = step.draft, step.verdict
        texts = self._transcript.texts[self._emitted : self._emitted + step.kept]
        token = verdict.token
        if token is None:
            own = TargetToken(None, "", None, TokenKind.NONE)
        else:
            own = TargetToken(token, texts[-1], verdict.row.probability(token), verdict.kind)
        if not draft.tokens:
            return (), own
        accepted, compared, p, q = verdict.accepted, verdict.compared, verdict.p, draft.rows
        drafted = [
            DraftedToken(
                token,
                texts[place] if place < accepted else self._text(token),
                q[place].probability(token) if q else None,
                p[place] if place < compared else None,
                Outcome.ACCEPTED if place < accepted else Outcome.REJECTED if place < compared else Outcome.DISCARDED,
            )
            for place, token in enumerate(draft.tokens)
        ]
        return tuple(drafted), own

    def _top(self, step: Step) -> tuple[Candidate, ...]:
        if step.verdict.token is None:
            return ()
        return tuple([Candidate(token, self._text(token), p) for token, p in step.verdict.row.best(BEST)])

    def _text(self, token: int) -> str:
        """A token by itself, which may hold part of a character only."""
        return self._piece(token).decode("utf-8", "replace")
