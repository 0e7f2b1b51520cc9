"""Drafting with a small model that shares the target's vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.drafts import Context, Draft
from specchat_engine.models import SessionModel
from specchat_engine.verify import Verdict


class ModelDrafter:
    """Draws each token from the draft model with the target's own rule and noise, which is what couples the two."""

    name = "model"

    def __init__(self, model: SessionModel) -> None:
        self.model = model

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads all of the prompt but its last token, as far as the draft's context reaches."""
        self.model.read(tokens[: min(len(tokens) - 1, self.model.capacity)], cancelled)

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, each with its q; it stops behind a token that ends the answer.

        What the model has not read yet goes in the first pass, together with the last token.
        """
        room = self.model.capacity - len(context.tokens) + 1
        if room < 1:
            return Draft((), source=self.name, note=f"the draft's context of {self.model.capacity} tokens is full")
        tokens: list[int] = []
        q: list[float] = []
        unread: Sequence[int] = context.tokens[self.model.length :]
        for place in range(min(k, room)):
            row = self.model.advance(unread, 1)[0]
            candidates = context.sampler.candidates(row, context.tokens, tokens)
            token = context.sampler.draw(candidates, context.position + place)
            tokens.append(token)
            q.append(candidates.probability(token))
            if token in context.ends:
                break
            unread = (token,)
        return Draft(tuple(tokens), tuple(q), self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Forgets what was not accepted."""
        valid = len(context.tokens) - (verdict.token is not None)
        if self.model.length > valid:
            self.model.rewind(valid)
