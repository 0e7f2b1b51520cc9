"""Drafting with a head of the target: EAGLE-3, layers for multi-token prediction, Medusa, or an MLPSpeculator."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.decoding.drafts import Context, Draft, DrafterTraits
from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.drafters.state_heads import StateHeadModel
from specchat_engine.models import SessionModel


class HeadDrafter(ModelDrafter):
    """Draws from a head as from a draft model; the head looks after the hidden states itself."""

    def __init__(self, name: str, model: SessionModel, longest: int) -> None:
        """`name` is one of settings.HEADS; the head can draft at most `longest` tokens in a row."""
        super().__init__(model)
        self.name = name
        self.traits = DrafterTraits(name, evidence="confidence", cost="step", longest=longest, sharpens=True)

    def propose(self, context: Context, k: int) -> Draft:
        """As a draft model, but no more tokens than the head has layers for."""
        return super().propose(context, min(k, self.traits.longest))


class StateHeadDrafter(HeadDrafter):
    """Draws from a head that needs the target's state of the token before, which the target may not have kept."""

    model: StateHeadModel

    def full(self, tokens: Sequence[int]) -> str:
        """Why it cannot draft after these tokens, empty if it can."""
        if full := super().full(tokens):
            return full
        return "" if self.model.has_state(tokens) else "the target has no hidden state of the token before yet"


def head_drafter(name: str, model: SessionModel, longest: int) -> HeadDrafter:
    """The drafter for a head; see HeadDrafter."""
    kind = StateHeadDrafter if isinstance(model, StateHeadModel) else HeadDrafter
    return kind(name, model, longest)
