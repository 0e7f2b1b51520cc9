"""Several answers at once: the passes that they wait for at the same time become one.

Each answer runs in a thread of its own, as if it were alone. When all of them wait for a pass, one is made for all that
wait for the same model, draft models first. So the drafts of all answers are verified by one pass of the target.
Source: continuous batching of Yu et al., "Orca", OSDI 2022, round by round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, RLock, get_ident

from specchat_engine.errors import DecodeError
from specchat_engine.llama.batch import Part
from specchat_engine.llama.native import NativeContext, Pass
from specchat_engine.models import ALONE, Company

_PATIENCE_S = 0.005
"""A pass waits so long for an answer whose last round is still being read by the caller."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A thread that waits for a pass over its part, and what came of it."""

    thread: int
    context: NativeContext
    part: Part
    made: Pass | DecodeError | None = None


class JointPasses:
    """Makes the passes of all answers. A thread holds the `lock` while it computes anything, but not while it waits."""

    def __init__(self, lock: RLock, target: NativeContext) -> None:
        self._lock = lock
        self._changed = Condition(lock)
        self._target = target
        self._answering: set[int] = set()
        self._away: set[int] = set()
        self._waiting: list[_Waiting] = []
        self._company: dict[int, Company] = {}
        self._passed: dict[int, tuple[int, int]] = {}

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While this thread gives an answer: passes wait for it. Call it with the lock."""
        me = get_ident()
        self._answering.add(me)
        try:
            yield
        finally:
            for known in (self._answering, self._away):
                known.discard(me)
            for known_of in (self._company, self._passed):
                known_of.pop(me, None)
            self._changed.notify_all()

    @contextmanager
    def away(self) -> Iterator[None]:
        """While the caller reads what this thread gave: passes wait only a moment for it."""
        me = get_ident()
        if me not in self._answering:
            yield
            return
        self._away.add(me)
        self._changed.notify_all()
        try:
            yield
        finally:
            self._away.discard(me)

    @property
    def company(self) -> Company:
        """Who shared the last target pass of this thread's answer."""
        return self._company.get(get_ident(), ALONE)

    def compute(self, context: NativeContext, parts: Sequence[Part]) -> Pass:
        """Waits until all answers wait, and makes a pass over this part and those of others.

        The logits are valid until the thread's next pass. Raises DecodeError once the context is closed.
        """
        mine = _Waiting(get_ident(), context, parts[0])
        with self._lock:
            self._waiting.append(mine)
            self._changed.notify_all()
            waited = False
            try:
                while mine.made is None:
                    missing = self._answering - {one.thread for one in self._waiting}
                    if missing - self._away or (missing and not waited):
                        waited = not self._changed.wait(None if missing - self._away else _PATIENCE_S)
                    else:
                        self._make_pass()
            finally:
                if mine in self._waiting:
                    self._waiting.remove(mine)
        if isinstance(mine.made, DecodeError):
            raise mine.made
        return mine.made

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
        for place, one in enumerate(chosen):
            one.made = made if isinstance(made, DecodeError) else replace(made, logits=[made.logits[place]])
            self._waiting.remove(one)
        if context is self._target:
            self._note(chosen)
        self._changed.notify_all()

    def _note(self, chosen: Sequence[_Waiting]) -> None:
        """Notes what each answer of a target pass has to know of the others."""
        emitted, reading = {}, {}
        for one in chosen:
            start, count = one.part.positions[0], len(one.part.tokens)
            before, most = self._passed.get(one.thread, (start, 1))
            emitted[one.thread] = max(1, min(start - before, most))
            reading[one.thread] = one.part.rows < count
            self._passed[one.thread] = start, one.part.rows
        for one in chosen:
            others = [other for other in chosen if other is not one]
            self._company[one.thread] = Company(
                len(others),
                sum(len(other.part.tokens) for other in others),
                sum(emitted[other.thread] for other in others),
                any(reading[other.thread] for other in others),
            )
