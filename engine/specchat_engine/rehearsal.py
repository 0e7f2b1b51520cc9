"""What a draft model would have been accepted with: found out behind an answer that it had little part in.

Plain rounds do not tell how well a draft model follows a text, and trying it costs the answer time. Behind the answer
nobody waits: the model reads it token by token, and draws at each place what it would have drafted there. With the
noise of the answer's own draws a drafted token stands exactly where the answer has the same one, so that 64 tokens tell
more than ten tries, and the model has read them when the conversation goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from specchat_engine.control.controller import Controller
from specchat_engine.control.costs import FIRST, FURTHER, QUICK_MS
from specchat_engine.control.situation import Situation
from specchat_engine.drafts import Context
from specchat_engine.measuring import pass_ms
from specchat_engine.models import SessionModel
from specchat_engine.settings import USUAL_K

ENOUGH = 32
"""Where so many tokens of the draft model were compared in an answer, that has told enough."""

_TOKENS = 64
"""So many tokens at the end of an answer are gone through."""

_BUDGET_MS = 250.0
"""The draft model computes no longer than this behind one answer, reading included."""


def rehearse(
    target: SessionModel, draft: SessionModel, context: Context, first: int, controller: Controller
) -> Iterator[None]:
    """Draws what would have been drafted of the answer in the context, and yields behind each pass, so that one can
    stop; whoever lets another answer begin meanwhile must not go on.

    `first` is the place of the first token that the target drew. Where passes are quick the target makes one over a
    usual draft as well, whose costs nothing tells where nothing is drafted. Raises DecodeError where llama.cpp fails.
    """
    tokens, proposer, longest = context.tokens, context.sampler.rough, target.max_rows - 1
    first = max(first, len(tokens) - _TOKENS)
    if first >= len(tokens) or len(tokens) > draft.capacity or longest < 1:
        return
    draft.keep(tokens[: first - 1])
    unread, spent_ms = first - 1 - draft.length, 0.0
    if (controller.draft.at(unread, first) or 0.0) > _BUDGET_MS:
        return
    if unread:
        before = draft.busy_ns
        draft.read(tokens[: first - 1], bool)
        spent_ms = (draft.busy_ns - before) / 1e6
        yield

    def goes_on(place: int) -> bool:
        return place < len(tokens) and spent_ms < _BUDGET_MS

    width, counted = USUAL_K + 1, 0  # as what the next pass of the draft model counts
    quick = (controller.target.at(1, first) or QUICK_MS) < QUICK_MS
    if quick and width <= target.max_rows and target.length + width <= target.capacity:
        controller.target.observe(width, target.length, pass_ms(target, width, width))
        counted = FIRST
    place = first
    while goes_on(place):
        k, stop, _ = controller.imagine(Situation(place, 1, 0, longest, model=True, lookup=False))
        worth_more = stop.begin() if stop else None
        confidence: list[float] = []
        stands, ended = True, False
        while stands and not ended and len(confidence) < k and goes_on(place):
            before = draft.busy_ns
            row = draft.advance(tokens[draft.length : place], 1)[0]
            milliseconds = (draft.busy_ns - before) / 1e6
            spent_ms += milliseconds
            if counted:
                controller.draft.observe(counted, place, milliseconds)
            counted = FURTHER
            candidates = proposer.candidates(row, tokens[:place])
            token = proposer.draw(candidates, place - context.prompt_length)
            confidence.append(proposer.confidence(row, candidates, token))
            stands = token == tokens[place]
            ended = worth_more is not None and not worth_more(confidence[-1])
            place += 1
            yield
        drafted = len(confidence)
        controller.rehearsed(min(k, drafted + ended), drafted - (not stands), confidence)
        if stands:  # the target's own token comes behind such a draft, which the model reads with the one before it
            place, counted = place + 1, 0
