"""What proposes tokens: a small model, a model with another vocabulary, a head, the text so far, or one of your own."""

from specchat_engine.drafters.head import HeadDrafter, head_drafter
from specchat_engine.drafters.hierarchy import GUESSED, HierarchyDrafter
from specchat_engine.drafters.lookahead import LookaheadDrafter
from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.drafters.plugin import MakeDrafter, PluginDrafter, with_installed
from specchat_engine.drafters.prompt_lookup import PromptLookupDrafter
from specchat_engine.drafters.state_heads import StateHead, StateHeadModel
from specchat_engine.drafters.store import StoreDrafter, Stores
from specchat_engine.drafters.token_recycling import TokenRecyclingDrafter
from specchat_engine.drafters.translated import TranslatedDrafter, Translation
from specchat_engine.models import SessionModel

__all__ = [
    "GUESSED",
    "HeadDrafter",
    "HierarchyDrafter",
    "LookaheadDrafter",
    "MakeDrafter",
    "ModelDrafter",
    "PluginDrafter",
    "PromptLookupDrafter",
    "StateHead",
    "StateHeadModel",
    "StoreDrafter",
    "Stores",
    "TokenRecyclingDrafter",
    "TranslatedDrafter",
    "Translation",
    "drafting_with",
    "head_drafter",
    "with_installed",
]


def drafting_with(
    model: SessionModel, translation: Translation | None, name: str = ModelDrafter.name, *, hierarchy: bool = False
) -> ModelDrafter | TranslatedDrafter:
    """The drafter for a draft model: through text with a translation, else sped up by lookup in a `hierarchy`."""
    if translation:
        return TranslatedDrafter(model, translation, name)
    return HierarchyDrafter(model, name) if hierarchy else ModelDrafter(model, name)
