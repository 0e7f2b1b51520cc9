"""What proposes tokens: a small model, a model with another vocabulary, a head, the text so far, or one of your own."""

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Generic, TypeVar

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
    "DraftModel",
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
    "head_drafter",
    "unaided",
    "with_installed",
]


Model = TypeVar("Model", bound=SessionModel, covariant=True)


@dataclass(frozen=True, slots=True)
class DraftModel(Generic[Model]):
    """A draft model, and how it drafts: through text if there is a `translation`, because its vocabulary is another."""

    model: Model
    translation: Translation | None = None
    drafts_as: type[ModelDrafter] = ModelDrafter

    def drafter(self, name: str) -> ModelDrafter:
        """Makes its drafter for one session."""
        if self.translation:
            return TranslatedDrafter(self.model, self.translation, name)
        return self.drafts_as(self.model, name)


def unaided() -> list[Drafter]:
    """Makes the drafters that need neither a model nor a text."""
    return [resolve_name(f"{__name__}.{path}")() for path in UNAIDED.values()]
