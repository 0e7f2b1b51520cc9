"""The draft of a draft model that gives most, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specchat_engine.policy.acceptance import ALL, Habits
from specchat_engine.policy.choice import Option, best_option
from specchat_engine.policy.stopping import EarlyStop, bounds_of


class Terms(NamedTuple):
    """What a draft is weighed by: milliseconds of a further step, and of all that a round takes beside its steps and
    the target's pass; what time is worth, in tokens a millisecond; how long it may be, and whether it may end before.
    """

    step_ms: float
    first_ms: float
    pace: float
    lengths: range
    free: bool


class BestDraft:
    """The best draft by these terms, what is known of a kind of text, and target passes over w tokens in
    `verify_ms[w]`; it is so until something is learned."""

    __slots__ = ("_end", "_habits", "option", "terms", "verify_ms")

    def __init__(self, habits: Habits, verify_ms: Sequence[float], terms: Terms) -> None:
        self._habits = habits
        self._end: tuple[int, EarlyStop] | None = None
        self.verify_ms, self.terms = verify_ms, terms
        stands = habits.chain.all(terms.lengths.stop - 1, pooled=True)
        longer = habits.longer.all(terms.lengths.stop - 1) if terms.free else ALL
        self.option = self._best(stands, longer)

    @property
    def end(self) -> tuple[int, EarlyStop]:
        """Where drafts by this option end, and how long they may become by that: where drafts were ended so far must
        not be where they end for good, so what may be drafted forgets about that."""
        if self._end is None:
            terms = self.terms
            onward = self._habits.stands_onward(terms.lengths.stop - 1)
            k = max(self.option.k, self._best(onward, ALL).k)
            bounds = bounds_of(k, onward, self.verify_ms, terms.step_ms, max(self.option.rate, terms.pace))
            self._end = k, EarlyStop(bounds, self._habits.by_confidence.all())
        return self._end

    def _best(self, stands: Sequence[float], longer: Sequence[float]) -> Option:
        terms = self.terms
        return best_option(stands, longer, self.verify_ms, terms.step_ms, terms.first_ms, terms.pace, terms.lengths)
