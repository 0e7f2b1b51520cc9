"""Drafting with a head of the target: EAGLE-3, or layers for multi-token prediction."""

from __future__ import annotations

from specchat_engine.decoding.drafts import Context, Draft, DrafterTraits
from specchat_engine.drafters.model import ModelDrafter
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
