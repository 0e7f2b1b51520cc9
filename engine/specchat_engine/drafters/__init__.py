"""What proposes tokens: a small model, a model with another vocabulary, or the text so far."""

from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.drafters.prompt_lookup import PromptLookupDrafter
from specchat_engine.drafters.translated import TranslatedDrafter, Translation
from specchat_engine.models import SessionModel

__all__ = ["ModelDrafter", "PromptLookupDrafter", "TranslatedDrafter", "Translation", "drafting_with"]


def drafting_with(model: SessionModel, translation: Translation | None) -> ModelDrafter | TranslatedDrafter:
    """The drafter for a draft model, through text if there is a translation."""
    return TranslatedDrafter(model, translation) if translation else ModelDrafter(model)
