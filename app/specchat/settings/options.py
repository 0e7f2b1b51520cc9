"""What a command hands to the part that answers: models, how to load them, and what the user chose to override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specchat.settings.schema import LONGEST_ANSWER
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import DraftLength, Settings, Sharpness, TreeSize

DEFAULT_VERIFIER = Settings().verifier


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """A pair of models and how the user wants answers from it.

    `draft` None means that no draft model is loaded. `drafter` None means hybrid with a draft model, else lookup.
    `sampling` holds the parameters that the user set, by name; all others are the model's to recommend. `max_tokens` 0
    is no limit, None one that each command chooses. `seed` None means a new one for every session.
    """

    target: Path
    draft: Path | None
    options: LoadOptions
    k: DraftLength = Settings().k
    drafter: str | None = None
    verifier: str = DEFAULT_VERIFIER
    thought_verifier: str = Settings().thought_verifier
    sharpness: Sharpness = Settings().sharpness
    tree: TreeSize = Settings().tree
    lookup: str = Settings().lookup
    sampling: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    thinking: str = Settings().thinking
    context_full: str = Settings().context_full
    seed: int | None = None
    system: str | None = None

    def sampled(self, recommended: SamplingParams) -> SamplingParams:
        """The recommended parameters with the user's in their place. Raises SettingError for a value out of range."""
        return replace(recommended, **self.sampling)

    def settings(self, recommended: SamplingParams, drafters: Sequence[str]) -> Settings:
        """The settings of the first turn, from what the loaded models recommend and can do.

        Lookup replaces a chosen drafter that the loaded pair cannot serve, because its draft model was rejected.
        Raises SettingError for a value out of range.
        """
        drafter = self.drafter or "hybrid"
        return Settings(
            k=self.k,
            drafter=drafter if drafter in drafters else "lookup",
            verifier=self.verifier,
            thought_verifier=self.thought_verifier,
            sharpness=self.sharpness,
            tree=self.tree,
            lookup=self.lookup,
            sampling=self.sampled(recommended),
            max_tokens=LONGEST_ANSWER if self.max_tokens is None else self.max_tokens,
            thinking=self.thinking,
            context_full=self.context_full,
        )
