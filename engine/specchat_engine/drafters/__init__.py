"""What proposes tokens: a small model, a model with another vocabulary, a head, the text so far, or one of your own."""

from pkgutil import resolve_name

from specchat_engine.decoding.drafts import Drafter
from specchat_engine.drafters.hierarchy import GUESSED, HierarchyDrafter
from specchat_engine.drafters.model import HeadDrafter, ModelDrafter, head_drafter
from specchat_engine.drafters.plugin import MakeDrafter, PluginDrafter, with_installed
from specchat_engine.drafters.prompt_lookup import PromptLookupDrafter
from specchat_engine.drafters.state_heads import StateHead, StateHeadModel
from specchat_engine.drafters.store import StoreDrafter, Stores
from specchat_engine.drafters.translated import TranslatedDrafter, Translation
from specchat_engine.models import SessionModel
from specchat_engine.settings import UNAIDED

__all__ = [
    "GUESSED",
    "HeadDrafter",
    "HierarchyDrafter",
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
    "unaided",
    "with_installed",
]


def drafting_with(
    model: SessionModel, translation: Translation | None, name: str = ModelDrafter.name, *, hierarchy: bool = False
) -> ModelDrafter | TranslatedDrafter:
    """The drafter for a draft model: through text with a translation, else sped up by lookup in a `hierarchy`."""
    if translation:
        return TranslatedDrafter(model, translation, name)
    return HierarchyDrafter(model, name) if hierarchy else ModelDrafter(model, name)


def unaided() -> list[Drafter]:
    """Makes the drafters that need neither a model nor a text."""
    return [resolve_name(f"{__name__}.{path}")() for path in UNAIDED.values()]
