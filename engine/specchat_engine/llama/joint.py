"""Several answers at once: the passes that they wait for at the same time become one.

Each answer has a place, and runs as if it were alone. When all of them wait for a pass, one is made for all that wait
for the same model, draft models first. So the drafts of all answers are verified by one pass of the target. Source:
continuous batching of Yu et al., "Orca", OSDI 2022, round by round.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, RLock

from specchat_engine.errors import DecodeError
from specchat_engine.llama.batch import PassPart
from specchat_engine.llama.native import NativeContext, PassResult
from specchat_engine.models import ALONE, SharedPass

_PATIENCE_S = 0.005
"""A pass waits this long for an answer whose last round is still being read by the caller."""


_WEIGHT = 0.25
"""The weight of the latest pass in what an answer usually adds to a pass and gets from it."""


@dataclass(slots=True)
class _Answer:
    """An answer that is being given.

    It is `away` while the caller reads its last round, and `late` if a pass was made without it meanwhile. Its last
    target pass began at position `start` with `rows` rows of logits; `shared_pass` is what others added to it. Its
    draft passes since then took `draft_ns`; `own_draft_ns` is its part of them.
    """

    away: bool = False
    late: bool = False
    shared_pass: SharedPass = ALONE
    start: int | None = None
    rows: int = 1
    usual_tokens: float = 1.0
    usual_emitted: float = 1.0
    draft_ns: float = 0.0
    own_draft_ns: float = 0.0

    def begin_pass(self, part: PassPart) -> None:
        """Learns from the next target pass what came of the last one. Reading a prompt emits nothing."""
        if self.start is not None and self.rows:
            emitted = max(1, min(part.positions[0] - self.start, self.rows))
            self.usual_tokens += _WEIGHT * (self.rows - self.usual_tokens)
            self.usual_emitted += _WEIGHT * (emitted - self.usual_emitted)
        self.start, self.rows = part.positions[0], part.rows

    def note_shared_pass(
        self, answers: int, tokens: int, usual_tokens: float, usual_emitted: float, *, reading: bool
    ) -> None:
        """Notes what others added to its target pass."""
        share = self.own_draft_ns / self.draft_ns if self.draft_ns else 1.0
        self.shared_pass = SharedPass(answers, tokens, usual_tokens, usual_emitted, reading, share)
        self.draft_ns = self.own_draft_ns = 0.0


@dataclass(slots=True, eq=False)
class _Waiting:
    """A part that waits for a pass, the place that adds it, and its result."""

    place: int
    context: NativeContext
    part: PassPart
    made: PassResult | DecodeError | None = None


class JointPasses:
    """Makes the passes of all places. A thread holds the `lock` while it computes anything, but not while it waits.

    One thread makes all passes. OpenMP, which llama.cpp computes with, starts other threads for each thread that calls
    it, and those of all callers get in each other's way.
    """

    def __init__(self, lock: RLock, target: NativeContext) -> None:
        self._changed = Condition(lock)
        self._target = target
        self._passes = ThreadPoolExecutor(1, "passes")
        self._answers: dict[int, _Answer] = {}
        self._waiting: list[_Waiting] = []

    @contextmanager
    def answering(self, place: int) -> Iterator[Collection[int]]:
        """While an answer is given in a place, passes wait for it. Gives the places with answers.

        Call it with the lock.
        """
        self._answers[place] = answer = _Answer()
        try:
            yield frozenset(self._answers)
        finally:
            if self._answers.get(place) is answer:
                del self._answers[place]
            self._changed.notify_all()

    @contextmanager
    def away(self, place: int) -> Iterator[None]:
        """While the caller reads what an answer gave: the next pass waits only a moment for it, further ones not."""
        answer = self._answers.get(place, _Answer())
        answer.away = True
        self._changed.notify_all()
        try:
            yield
        finally:
            answer.away = answer.late = False

    def shared_pass(self, place: int) -> SharedPass:
        """What others added to the last target pass of an answer."""
        answer = self._answers.get(place)
        return answer.shared_pass if answer else ALONE

    def compute(self, context: NativeContext, parts: Sequence[PassPart]) -> PassResult:
        """Waits until all answers wait, and makes a pass over this part, which belongs to one place, and theirs.

        While its place gives an answer the logits are valid until its next pass. Raises DecodeError once the context
        is closed.
        """
        (part,) = parts
        if not isinstance(part.sequences, int):
            raise DecodeError("a tree cannot share a pass with other answers")
        mine = _Waiting(part.sequences, context, part)
        with self._changed:
            self._waiting.append(mine)
            self._changed.notify_all()
            try:
                while mine.made is None:
                    missing = self._missing()
                    if not missing:
                        self._make_pass()
                    elif not self._changed.wait(_PATIENCE_S if all(answer.away for answer in missing) else None):
                        for answer in missing:
                            answer.late = answer.away
            finally:
                if mine in self._waiting:
                    self._waiting.remove(mine)
        if isinstance(mine.made, DecodeError):
            raise mine.made
        return mine.made

    def _missing(self) -> list[_Answer]:
        """The answers that a pass still has to wait for."""
        waiting = {request.place for request in self._waiting}
        return [answer for place, answer in self._answers.items() if place not in waiting and not answer.late]

    def _make_pass(self) -> None:
        """One pass for those who wait for the same model, in the order in which they came, as far as it has room."""
        context = next(
            (request.context for request in self._waiting if request.context is not self._target), self._target
        )
        chosen, tokens = [], 0
        for request in self._waiting:
            if request.context is context and tokens + len(request.part.tokens) <= context.size:
                chosen.append(request)
                tokens += len(request.part.tokens)
        passing = self._passes.submit(context.compute, [request.part for request in chosen])
        try:
            made: PassResult | DecodeError = passing.result()
        except DecodeError as error:
            made = error
        finally:
            wait([passing])  # also after an interrupt nobody else may touch the models before the pass has ended
        for index, request in enumerate(chosen):
            request.made = made if isinstance(made, DecodeError) else replace(made, logits=[made.logits[index]])
            self._waiting.remove(request)
        answers = [self._answers.get(request.place) for request in chosen]
        if context is self._target:
            _note(answers, [request.part for request in chosen])
        elif isinstance(made, PassResult):
            for answer in filter(None, answers):
                answer.draft_ns += made.nanoseconds
                answer.own_draft_ns += made.nanoseconds / len(chosen)
        self._changed.notify_all()


def _note(answers: Sequence[_Answer | None], parts: Sequence[PassPart]) -> None:
    """Notes what each answer of a target pass has to know of the others."""
    reading = [part.rows < len(part.tokens) for part in parts]
    tokens = sum(len(part.tokens) for part in parts)
    for answer, part in zip(answers, parts, strict=True):
        if answer:
            answer.begin_pass(part)
    known = [answer for answer in answers if answer]
    usual_tokens, usual_emitted = (
        sum(answer.usual_tokens for answer in known),
        sum(answer.usual_emitted for answer in known),
    )
    for answer, part, reads in zip(answers, parts, reading, strict=True):
        if answer:
            answer.note_shared_pass(
                len(parts) - 1,
                tokens - len(part.tokens),
                usual_tokens - answer.usual_tokens,
                usual_emitted - answer.usual_emitted,
                reading=sum(reading) > reads,
            )
