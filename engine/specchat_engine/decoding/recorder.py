"""Turns steps in token ids into rounds with text, probabilities and times, and records what a draft can learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter_ns, process_time_ns

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import ROOT, Context, Draft, along_the_chain
from specchat_engine.decoding.generate import Step
from specchat_engine.decoding.rounds import (
    Candidate,
    DraftedToken,
    Outcome,
    Round,
    RoundTimes,
    TargetToken,
    TokenKind,
)
from specchat_engine.decoding.stats import AcceptanceCounts
from specchat_engine.decoding.transcript import AnswerDecoder
from specchat_engine.decoding.verification import Verdict
from specchat_engine.models import SessionModel
from specchat_engine.stores.recorded_turns import RecordedTurn, likeliest

TOP = 5
"""How many of the target's best candidates a round holds for its last position."""

_PAUSE_NS = 10_000_000
"""After a pause this long, threads have to wake up first: the next round's times say nothing about other rounds."""


@dataclass(frozen=True, slots=True)
class _Clocks:
    """The clock and the models' counters at one moment, in nanoseconds."""

    now: int
    draft: int
    verify: int
    rollback: int


class Recorder:
    """Makes the rounds of one turn, in order. Timing of the first round starts when the recorder is made.

    `after_pause` is True while the round being made follows a long pause. `own_times` are the last round's times
    without the time that the reader of the rounds spent before it. `computed_ms` is the processor time of the process
    in `own_times`, all threads together.
    """

    def __init__(
        self,
        target: SessionModel,
        drafting: Sequence[SessionModel],
        piece: Callable[[int], bytes],
        transcript: AnswerDecoder,
        began_ns: int,
    ) -> None:
        """`drafting` are the models that draft.

        The turn began at `began_ns` of `perf_counter_ns`. Tokens already in the transcript belong to no round.
        """
        self.after_pause = False
        self.own_times = RoundTimes(0.0, 0.0, 0.0)
        self.computed_ms = 0.0
        self._target = target
        self._drafting = drafting
        self._piece = piece
        self._transcript = transcript
        self._began_ns = began_ns
        self._rounds = 0
        self._emitted = len(transcript)
        self._away_ns = 0
        self._computed_ns = process_time_ns()
        self._last = self._clocks()

    def record(self, step: Step) -> Round:
        """The round of the step that the loop just made."""
        before, self._last = self._last, self._clocks()
        computed, self._computed_ns = self._computed_ns, process_time_ns()
        self.computed_ms = (self._computed_ns - computed) / 1e6
        times = _times_between(before, self._last)
        self.own_times = RoundTimes(times.draft, times.verify, times.other - self._away_ns / 1e6, times.rollback)
        self._away_ns = 0
        texts = self._transcript.texts[self._emitted : self._emitted + step.num_emitted]
        made = Round(
            index=self._rounds,
            source=step.draft.source if step.draft.tokens else "none",
            k=step.plan.k,
            reason=step.draft.note or step.plan.reason,
            limited_by=step.limited_by,
            expected=None if step.draft.note else step.plan.expected,
            sharpness=step.plan.sharpness,
            drafted=self._drafted(step, texts),
            parents=_parents(step),
            verifier=step.plan.verifier.name if step.draft.tokens else "",
            token=_own_token(step, texts),
            top=self._top(step),
            ms=times,
            t_ms=(self._last.now - self._began_ns) / 1e6,
        )
        self._rounds += 1
        self._emitted += step.num_emitted
        return made

    def hold(self, wait: Callable[[], None]) -> None:
        """Calls `wait` before a round. The time it takes is not part of the turn."""
        began, computed = perf_counter_ns(), process_time_ns()
        wait()
        waited = perf_counter_ns() - began
        self._computed_ns += process_time_ns() - computed
        self.after_pause = waited >= _PAUSE_NS
        self._last = replace(self._last, now=self._last.now + waited)
        self._began_ns += waited

    @contextmanager
    def away(self) -> Iterator[None]:
        """Around the time that the reader of the rounds takes: it counts as `other` in the next round, but not in
        `own_times`."""
        began, computed = perf_counter_ns(), process_time_ns()
        try:
            yield
        finally:
            self._away_ns += perf_counter_ns() - began
            self._computed_ns += process_time_ns() - computed

    def leave_out(self) -> None:
        """Everything since the last round belongs to no round."""
        self._away_ns = 0
        self._computed_ns = process_time_ns()
        self._last = self._clocks()

    def _clocks(self) -> _Clocks:
        drafted = sum(model.busy_ns for model in self._drafting)
        rolled_back = sum(model.rollback_ns for model in (self._target, *self._drafting))
        return _Clocks(perf_counter_ns(), drafted, self._target.busy_ns, rolled_back)

    def _drafted(self, step: Step, texts: list[str]) -> tuple[DraftedToken, ...]:
        draft, accepted, p, q = step.draft, step.verdict.accepted, step.verdict.judged, step.draft.rows
        tokens = []
        for index, node in enumerate(_accepted_first(step)):
            token = draft.tokens[node]
            depth = _compared_at(step, node)
            tokens.append(
                DraftedToken(
                    id=token,
                    text=texts[index] if index < accepted else self._text(token),
                    q=q[node].probability(token) if q else None,
                    p=None if depth is None else p[depth].probability(token),
                    outcome=_outcome(index, accepted, compared=depth is not None),
                )
            )
        return tuple(tokens)

    def _top(self, step: Step) -> tuple[Candidate, ...]:
        if step.verdict.token is None:
            return ()
        return tuple(Candidate(token, self._text(token), p) for token, p in step.verdict.row.best(TOP))

    def _text(self, token: int) -> str:
        """The text of a token by itself, which may be part of a character."""
        return self._piece(token).decode("utf-8", "replace")


def _times_between(before: _Clocks, after: _Clocks) -> RoundTimes:
    """The parts of the time between two moments; they add up to all of it."""
    draft, verify = after.draft - before.draft, after.verify - before.verify
    rollback = after.rollback - before.rollback
    other = after.now - before.now - draft - verify - rollback
    return RoundTimes(draft=draft / 1e6, verify=verify / 1e6, other=other / 1e6, rollback=rollback / 1e6)


def _own_token(step: Step, texts: list[str]) -> TargetToken:
    token = step.verdict.token
    if token is None:
        return TargetToken(None, "", None, TokenKind.NONE)
    return TargetToken(token, texts[-1], step.verdict.row.probability(token), step.verdict.kind)


def _outcome(index: int, accepted: int, *, compared: bool) -> Outcome:
    if index < accepted:
        return Outcome.ACCEPTED
    return Outcome.REJECTED if compared else Outcome.DISCARDED


def _accepted_first(step: Step) -> list[int]:
    """The indexes of the drafted tokens: first the accepted ones, then those that were compared, then the others."""
    nodes = range(len(step.draft.tokens))
    if not step.draft.parents:
        return [*nodes]
    path = step.verdict.path
    rest = [node for node in nodes if node not in path]
    return [*path, *sorted(rest, key=lambda node: _compared_at(step, node) is None)]


def _parents(step: Step) -> tuple[int, ...]:
    """The parents of a tree's tokens by their indexes in the round; none for a chain."""
    if not step.draft.parents:
        return ()
    order = _accepted_first(step)
    index_of = {node: index for index, node in enumerate(order)} | {ROOT: ROOT}
    return tuple(index_of[step.draft.parents[node]] for node in order)


def _compared_at(step: Step, node: int) -> int | None:
    """The row of `judged` that a drafted token was compared with, None if it was not compared."""
    draft, judged = step.draft, len(step.verdict.judged)
    if not draft.parents:
        return node if node < judged else None
    before = [*draft.path(draft.parents[node])]
    return len(before) if len(before) < judged and before == [*step.verdict.path[: len(before)]] else None


class TurnRecorder:
    """Keeps what the target thinks during one answer; it is a `generate.Watch`.

    `tested` has the accepted and rejected tokens by the name of the drafter that proposed them.
    """

    def __init__(self) -> None:
        self.tested: dict[str, AcceptanceCounts] = {}
        self._best: list[NDArray[np.int32]] = []
        self._log_p: list[NDArray[np.float16]] = []

    def __call__(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Takes the rows after the context and after each accepted token, and counts what was compared."""
        if draft.tokens:
            compared, accepted = along_the_chain(draft, verdict)
            tested = AcceptanceCounts(accepted, compared - accepted)
            self.tested[draft.source] = self.tested.get(draft.source, AcceptanceCounts()) + tested
        best, log_p = likeliest(logits[verdict.places])
        self._best.append(best)
        self._log_p.append(log_p)

    def turn(self, prompt: Sequence[int], answer: Sequence[int], kind: str = "") -> RecordedTurn | None:
        """What was recorded of this answer, None for an empty one."""
        if not (self._best and answer):
            return None
        best, log_p = np.concatenate(self._best)[: len(answer)], np.concatenate(self._log_p)[: len(answer)]
        ids = np.array([*prompt, *answer[: len(best)]], np.int32)
        return RecordedTurn(ids, len(prompt), best, log_p, kind)
