"""Several answers at once: the passes that they wait for at the same time become one.

Each answer has a place, and runs as if it were alone. When all of them wait for a pass, one is made for all that wait
for the same model, draft models first. So the drafts of all answers are verified by one pass of the target. Source:
continuous batching of Yu et al., "Orca", OSDI 2022, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, RLock

from specchat_engine.errors import DecodeError
from specchat_engine.llama.batch import Part
from specchat_engine.llama.native import NativeContext, Pass
from specchat_engine.models import ALONE, Company

_PATIENCE_S = 0.005
"""A pass waits so long for an answer whose last round is still being read by the caller."""


@dataclass(slots=True)
class _Answer:
    """An answer that is being given.

    It is `away` while the caller reads its last round, and `late` if a pass was made without it meanwhile. Its last
    target pass began at position `start` with `rows` rows of logits, and was made in `company`.
    """

    away: bool = False
    late: bool = False
    company: Company = ALONE
    start: int | None = None
    rows: int = 1

    def emitted(self, part: Part) -> int:
        """How many tokens came of its last target pass, if this part is the next one. Reading a prompt emits none."""
        return 1 if self.start is None else max(1, min(part.positions[0] - self.start, self.rows))


@dataclass(slots=True, eq=False)
class _Waiting:
    """A part that a pass is waited for, the place that adds it, and what came of it."""

    place: int
    context: NativeContext
    part: Part
    made: Pass | DecodeError | None = None


class JointPasses:
    """Makes the passes of all places. A thread holds the `lock` while it computes anything, but not while it waits."""

    def __init__(self, lock: RLock, target: NativeContext) -> None:
        self._changed = Condition(lock)
        self._target = target
        self._answers: dict[int, _Answer] = {}
        self._waiting: list[_Waiting] = []

    @contextmanager
    def answering(self, place: int) -> Iterator[None]:
        """While an answer is given in a place: passes wait for it. Call it with the lock."""
        self._answers[place] = answer = _Answer()
        try:
            yield
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

    def company(self, place: int) -> Company:
        """Who shared the last target pass of an answer."""
        answer = self._answers.get(place)
        return answer.company if answer else ALONE

    def compute(self, context: NativeContext, parts: Sequence[Part]) -> Pass:
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
                    elif not self._changed.wait(_PATIENCE_S if all(one.away for one in missing) else None):
                        for one in missing:
                            one.late = one.away
            finally:
                if mine in self._waiting:
                    self._waiting.remove(mine)
        if isinstance(mine.made, DecodeError):
            raise mine.made
        return mine.made

    def _missing(self) -> list[_Answer]:
        """The answers that a pass still has to wait for."""
        waiting = {one.place for one in self._waiting}
        return [one for place, one in self._answers.items() if place not in waiting and not one.late]

    def _make_pass(self) -> None:
        """One pass for those who wait for the same model, in the order in which they came, as far as it has room."""
        context = next((one.context for one in self._waiting if one.context is not self._target), self._target)
        chosen, tokens = [], 0
        for one in self._waiting:
            if one.context is context and tokens + len(one.part.tokens) <= context.size:
                chosen.append(one)
                tokens += len(one.part.tokens)
        try:
            made: Pass | DecodeError = context.compute([one.part for one in chosen])
        except DecodeError as error:
            made = error
        for index, one in enumerate(chosen):
            one.made = made if isinstance(made, DecodeError) else replace(made, logits=[made.logits[index]])
            self._waiting.remove(one)
        if context is self._target:
            self._note(chosen)
        self._changed.notify_all()

    def _note(self, chosen: Sequence[_Waiting]) -> None:
        """Notes what each answer of a target pass has to know of the others."""
        shared = [(one.part, self._answers.get(one.place)) for one in chosen]
        emitted = [answer.emitted(part) if answer else 1 for part, answer in shared]
        tokens = [len(part.tokens) for part, _ in shared]
        reading = [part.rows < len(part.tokens) for part, _ in shared]
        for (part, answer), own_tokens, own_emitted, reads in zip(shared, tokens, emitted, reading, strict=True):
            if answer:
                answer.company = Company(
                    len(shared) - 1, sum(tokens) - own_tokens, sum(emitted) - own_emitted, sum(reading) > reads
                )
                answer.start, answer.rows = part.positions[0], part.rows
