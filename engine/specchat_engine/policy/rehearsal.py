"""What a draft model would have been accepted with: found out behind an answer that it had little part in.

Plain rounds do not tell how well a draft model follows a text, and trying it costs the answer time. Behind the answer
nobody waits: the model reads it token by token, and draws at each place what it would have drafted there. With the
noise of the answer's own draws a drafted token stands exactly where the answer has the same one, so that a hundred
tokens tell more than ten tries, and the model has read them when the conversation goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from specchat_engine.decoding.drafts import Context
from specchat_engine.models import SessionModel
from specchat_engine.policy.calibration import WIDTHS, pass_ms
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.costs import FIRST, FURTHER

ENOUGH = 32
"""Where so many tokens of the draft model were compared in an answer, that has told enough."""

_TOKENS = 128
"""So many tokens of an answer are gone through, from its beginning."""

_APART = 4
"""Every fourth draft is told of, and then those between: estimates follow what they hear last, and the end of an answer
is easier to guess than its beginning."""

_BUDGET_MS = 250.0
"""Each model computes no longer than this behind one answer, reading included."""


class Rehearsal:
    """One answer, in a context, gone through by a draft model with the target's tokens.

    `first` is the place of the first token that the target drew, and the models are `free` while no other answer has
    begun. It also ends where the draft model has read something else meanwhile, such as what is being written.
    """

    def __init__(
        self,
        target: SessionModel,
        draft: SessionModel,
        context: Context,
        first: int,
        controller: Controller,
        free: Callable[[], bool],
    ) -> None:
        self._target, self._draft, self._context, self._controller = target, draft, context, controller
        self._place, self._end = first, min(first + _TOKENS, len(context.tokens))
        self._free = free
        self._spent_ms = 0.0
        self._length = draft.length
        self._made: list[tuple[int, int, list[float]]] = []
        self._counted = 0
        """As what the next pass of the draft model counts: for nothing where more than one token is unread."""

    def passes(self) -> Iterator[None]:
        """Goes through the answer and yields behind each pass, so that one can stop.

        The target makes some over several tokens as well, whose costs nothing tells where nothing is drafted. Raises
        DecodeError where llama.cpp fails.
        """
        draft, known = self._draft, self._context.tokens[: self._place - 1]
        if not self._can_be:
            return
        draft.keep(known)
        self._length, unread = len(known), len(known) - draft.length
        if (self._controller.draft.at(unread, len(known)) or 0.0) > _BUDGET_MS:
            return
        if unread:
            before = draft.busy_ns
            draft.read(known, bool)
            self._spent_ms = (draft.busy_ns - before) / 1e6
            yield
        yield from self._wide_passes()
        while self._goes_on:
            yield from self._imagined()
        if self._free():
            for begin in range(_APART):
                for goes, accepted, confidence in self._made[begin::_APART]:
                    self._controller.rehearsed(goes, accepted, confidence)

    @property
    def _can_be(self) -> bool:
        """Whether there is something to go through, with models that can do so and leave no trace."""
        target, draft, context = self._target, self._draft, self._context
        if len(context.tokens) > draft.capacity or target.max_rows < 2 or context.sampler.constraint:
            return False
        if self._controller.threads != (target.threads, draft.threads):
            return False
        return self._goes_on and target.goes_back_freely and draft.goes_back_freely

    @property
    def _goes_on(self) -> bool:
        left = self._place < self._end and self._spent_ms < _BUDGET_MS
        return left and self._free() and self._draft.length == self._length

    def _wide_passes(self) -> Iterator[None]:
        """Passes as those that check drafts, first of the widths that were seen least, as far as the time goes."""
        target, costs, depth = self._target, self._controller.target, self._target.length
        left_ms = _BUDGET_MS
        for width in sorted(WIDTHS[1:], key=costs.seen):
            fits = width <= target.max_rows and depth + width <= target.capacity
            if fits and (costs.at(width, depth) or 0.0) <= left_ms and self._goes_on:
                milliseconds = pass_ms(target, width, width)
                costs.observe(width, depth, milliseconds)
                left_ms -= milliseconds
                self._counted = FIRST
                yield

    def _imagined(self) -> Iterator[None]:
        """One draft, as the model would have made it here."""
        k, stop, _ = self._controller.imagine(self._place, self._target.max_rows - 1)
        worth_more = stop.begin() if stop else None
        confidence: list[float] = []
        stands, ended = True, False
        while stands and not ended and len(confidence) < k and self._goes_on:
            stands, sure = self._drawn()
            confidence.append(sure)
            ended = worth_more is not None and not worth_more(sure)
            self._place += 1
            yield
        drafted = len(confidence)
        self._made.append((min(k, drafted + ended), drafted - (not stands), confidence))
        if stands:  # the target's own token comes behind such a draft, which the model reads with the one before it
            self._place += 1
            self._counted = 0

    def _drawn(self) -> tuple[bool, float]:
        """Whether the model draws the answer's token at this place, and how sure it is of what it draws."""
        draft, context, place = self._draft, self._context, self._place
        tokens, proposer = context.tokens, context.sampler
        before = draft.busy_ns
        row = draft.advance(tokens[draft.length : place], 1)[0]
        milliseconds = (draft.busy_ns - before) / 1e6
        self._length = place
        self._spent_ms += milliseconds
        if self._counted:
            self._controller.draft.observe(self._counted, place, milliseconds)
        self._counted = FURTHER
        candidates = proposer.candidates(row, tokens[:place])
        token = proposer.draw(candidates, place - context.prompt_length)
        return token == tokens[place], proposer.confidence(row, candidates, token)
