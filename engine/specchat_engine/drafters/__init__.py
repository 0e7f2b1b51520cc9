"""What proposes tokens: a small model, a model with another vocabulary, a head, the text so far, or one of your own."""

from specchat_engine.drafters.head import HeadDrafter, head_drafter
from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.drafters.plugin import MakeDrafter, PluginDrafter, with_installed
from specchat_engine.drafters.prompt_lookup import PromptLookupDrafter
from specchat_engine.drafters.state_heads import StateHead, StateHeadModel
from specchat_engine.drafters.store import StoreDrafter, Stores
from specchat_engine.drafters.translated import TranslatedDrafter, Translation
from specchat_engine.models import SessionModel

__all__ = [
    "HeadDrafter",
    "MakeDrafter",
    "ModelDrafter",
    "PluginDrafter",
    "PromptLookupDrafter",
    "StateHead",
    "StateHeadModel",
    "StoreDrafter",
    "Stores",
    "TranslatedDrafter",
    "Translation",
    "drafting_with",
    "head_drafter",
    "with_installed",
]


def drafting_with(model: SessionModel, translation: Translation | None) -> ModelDrafter | TranslatedDrafter:
    """The drafter for a draft model, through text if there is a translation."""
    return TranslatedDrafter(model, translation) if translation else ModelDrafter(model)
