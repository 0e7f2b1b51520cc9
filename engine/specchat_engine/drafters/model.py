"""Drafting with a small model that shares the target's vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Alternative, Context, Draft, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.models import SessionModel
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.settings import Settings


class ModelDrafter:
    """Draws from the draft model by the target's rule, and with the target's noise if the verifier is coupled."""

    name = "model"
    law: ProposalLaw = "drawn"
    traits = DrafterTraits(name, evidence="confidence", cost="step", sharpens=True)

    def __init__(self, model: SessionModel, name: str = name) -> None:
        """`name` tells several draft models of one target apart."""
        self.model = model
        self.name = name
        self.traits = replace(self.traits, name=name)

    def open(self, tokens: Sequence[int], _: Fitted) -> None:
        """Opens a turn with these tokens: keeps their common prefix in memory and drops the rest."""
        self.model.keep(tokens[:-1])

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Reads the prompt except for its last token, as far as the draft's context reaches."""
        self.model.read(tokens[: min(len(tokens) - 1, self.model.capacity)], cancelled)

    def unread(self, tokens: Sequence[int]) -> int:
        """How many of these tokens it has not read yet."""
        return len(tokens) - self.model.length

    @property
    def threads(self) -> int:
        """The threads that it computes with."""
        return self.model.threads

    @property
    def goes_back_freely(self) -> bool:
        """Whether it can read a prompt ahead of time and forget it again at no cost."""
        return self.model.goes_back_freely

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Nothing: no setting is about its drafts."""

    def prospect(self, context: Context) -> Prospect:
        """What it has to read before it drafts, or why it cannot draft."""
        note = self.full(context.tokens)
        return Prospect(note=note) if note else Prospect(unread=self.unread(context.tokens))

    def foretold(self, k: int) -> tuple[int, ...]:
        """Nothing: it follows no match."""
        return ()

    def end(self, context: Context) -> None:
        """The turn is over; its memory stays as it is."""

    def room(self, tokens: Sequence[int]) -> int:
        """How many more tokens after these it can surely draft."""
        return self.model.capacity - len(tokens)

    def full(self, tokens: Sequence[int]) -> str:
        """Why it cannot draft after these tokens, empty if it can."""
        full = self.room(tokens) < 0
        return f"the draft's context of {self.model.capacity} tokens is full" if full else ""

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, each with its row of q; stops after a token that ends the answer or if no more would pay.

        The first pass also reads what the model has not read yet.
        """
        note = self.full(context.tokens)
        if note:
            return Draft((), source=self.name, note=note)
        model, proposer, worth_more, start = self.model, context.proposer, context.worth_more, context.position
        room = self.room(context.tokens) + 1
        tokens: list[int] = []
        rows: list[Candidates] = []
        confidence: list[float] = []
        alternatives: list[Alternative] = []
        for place in range(min(k, room)):
            row = self._next_row(context, tokens)
            if not tokens and k > 1:
                model.checkpoint()
            candidates = proposer.candidates(row, context.tokens, tokens)
            sharpened = candidates.sharpened(context.sharpness)
            token = proposer.draw(sharpened, start + place)
            tokens.append(token)
            rows.append(sharpened)
            sure = proposer.confidence(row, candidates, token) if worth_more else 0.0
            if context.branches:
                runner_up = proposer.runner_up(row, sharpened, token, start + place)
                alternatives.append(Alternative((*tokens[:-1], runner_up), sure, row=sharpened))
            if worth_more:
                confidence.append(sure)
                if not worth_more(sure):
                    break
            if token in context.ends:
                break
        drafted = tuple(tokens), tuple(rows)
        return Draft(*drafted, self.name, confidence=tuple(confidence), alternatives=tuple(alternatives))

    def _next_row(self, context: Context, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The logits [V] after the context and the tokens that were drafted so far."""
        row: NDArray[np.float32] = self.model.advance(tokens[-1:] or context.tokens[self.model.length :], 1)[0]
        return row

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Drops what was not accepted, or branched off from what it has read."""
        valid = len(context.tokens) - (verdict.token is not None)
        valid -= sum(node >= draft.trunk for node in verdict.path)
        if self.model.length > valid:
            self.model.rewind(valid)
