"""Steps in token ids become rounds with texts, probabilities and times.

A round is filled in when somebody looks at it, or together with others: right behind a pass over the weights the caches
are cold, and it would take several times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import perf_counter_ns
from typing import Protocol

from specchat_engine.decoding.books import Books, Made, Marks, Timed
from specchat_engine.decoding.drafts import Draft
from specchat_engine.decoding.generate import Step
from specchat_engine.decoding.rounds import Candidate, DraftedToken, Outcome, Round, TargetToken, TokenKind
from specchat_engine.decoding.transcript import Transcript
from specchat_engine.decoding.verification import Verdict
from specchat_engine.errors import DecodeError

BEST = 5
"""So many of the target's candidates are kept for the round's last position."""

Tokens = tuple[tuple[DraftedToken, ...], TargetToken, tuple[Candidate, ...]]
"""What a round has of tokens: its `drafted`, `token` and `top`."""

_REST_NS = 10_000_000
"""An answer that was held so long is computed by threads that have to wake up, in caches that hold something else."""

_TOLD, _TOLD_NS = 32, 40_000_000
"""So many rounds are told of together, and fewer as soon as their passes took so long."""

_TOGETHER = 256
"""So many rounds are filled in at the latest then, and each at once whose candidates are many, held as arrays: what
they are made of takes memory."""


class Busy(Protocol):
    """Anything that sums up how long its passes took, and how long it took to go back behind some of them."""

    busy_ns: int
    rollback_ns: int


class Recorder:
    """Makes the rounds of one turn, in order. Its clock starts when it is made."""

    def __init__(
        self,
        target: Busy,
        draft: Busy | None,
        piece: Callable[[int], bytes],
        transcript: Transcript,
        books: Books,
        began_ns: int,
    ) -> None:
        """`books` hear of each round. The turn began at `began_ns` of `perf_counter_ns`; decoding is timed from now on.

        What the transcript holds already belongs to no round.
        """
        self._target = target
        self._draft = draft
        self._piece = piece
        self._transcript = transcript
        self._books = books
        self._began_ns = began_ns
        self._emitted = len(transcript)
        self._rounds = 0
        self.rested = False
        """Whether the round of now was held so long that what it takes tells nothing of others."""
        self._unsettled: list[Round] = []
        self._mark = self._marks()
        self._untold, self._told_ns = 0, self._mark[1] + self._mark[2]

    def leave_out(self) -> None:
        """What was done since the last round belongs to no round."""
        self._mark = self._marks()

    def hold(self, wait: Callable[[], None]) -> None:
        """Lets the answer wait: that is no part of the turn at all."""
        arrived = perf_counter_ns()
        wait()
        waited = perf_counter_ns() - arrived
        self.rested = waited >= _REST_NS
        now, draft, verify, rollback = self._mark
        self._mark = now + waited, draft, verify, rollback
        self._began_ns += waited

    def record(self, step: Step) -> tuple[Round, Made]:
        """The round of the step that the loop just made, and what its times are told by."""
        start, verdict, row = self._emitted, step.verdict, step.verdict.row
        self._emitted = end = start + step.kept
        before, self._mark = self._mark, self._marks()
        made = self._rounds, start, end, before, self._mark, self._began_ns, self.rested
        own = verdict.token is not None
        self._books.waiting.append((made, len(step.draft.tokens), verdict.accepted, len(verdict.judged), own))
        event = Round.deferred((_fill, self, step, made))
        self._unsettled.append(event)
        self._rounds += 1
        self._untold += not self.rested
        passes_ns = self._mark[1] + self._mark[2]
        if passes_ns - self._told_ns > _TOLD_NS or self._untold == _TOLD:
            self._untold, self._told_ns = 0, passes_ns
            self._books.tell()
        if len(self._unsettled) == _TOGETHER or (row.logits is None and row.only is None):
            self.settle()
        return event, made

    def settle(self) -> None:
        """Fills all rounds in, which need the models no more then. Nothing where these were closed."""
        with suppress(DecodeError):
            for event in self._unsettled:
                event.settle()
        self._unsettled.clear()

    def _marks(self) -> Marks:
        target, draft = self._target, self._draft
        if draft is None:
            return perf_counter_ns(), 0, target.busy_ns, target.rollback_ns
        return perf_counter_ns(), draft.busy_ns, target.busy_ns, target.rollback_ns + draft.rollback_ns

    def tokens(self, draft: Draft, verdict: Verdict, start: int, end: int) -> Tokens:
        """What a round says of a draft and its verdict, which emitted the answer's tokens from start to end."""
        texts = self._transcript.texts[start:end]
        token, row = verdict.token, verdict.row
        top: tuple[Candidate, ...] = ()
        own = TargetToken(None, "", None, TokenKind.NONE)
        if token is not None:
            own = TargetToken(token, texts[-1], row.probability(token), verdict.kind)
            top = tuple([Candidate(token, self._text(token), p) for token, p in row.best(BEST)])
        accepted, compared, p, q = verdict.accepted, verdict.compared, verdict.judged, draft.rows
        drafted = [
            DraftedToken(
                token,
                texts[place] if place < accepted else self._text(token),
                q[place].probability(token) if q else None,
                p[place].probability(token) if place < compared else None,
                Outcome.ACCEPTED if place < accepted else Outcome.REJECTED if place < compared else Outcome.DISCARDED,
            )
            for place, token in enumerate(draft.tokens)
        ]
        return tuple(drafted), own, top

    def _text(self, token: int) -> str:
        """A token by itself, which may hold part of a character only."""
        return self._piece(token).decode("utf-8", "replace")


def _fill(event: Round, recorder: Recorder, step: Step, made: Made) -> None:
    timed = Timed(made)
    draft, plan = step.draft, step.plan
    event.index, event.k, event.ms, event.t_ms = timed.index, plan.k, timed.times, timed.t_ms
    event.source, event.reason = draft.source if draft.tokens else "none", draft.note or plan.reason
    event.drafted, event.token, event.top = recorder.tokens(draft, step.verdict, timed.start, timed.end)
