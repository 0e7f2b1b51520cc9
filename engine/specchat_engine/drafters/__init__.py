"""What proposes tokens: a small model, or the text so far."""

from specchat_engine.drafters.lookup import PromptLookupDrafter
from specchat_engine.drafters.model import ModelDrafter

__all__ = ["ModelDrafter", "PromptLookupDrafter"]
