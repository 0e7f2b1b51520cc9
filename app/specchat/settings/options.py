"""What a command hands to the part that answers: models, how to load them, and what the user chose to override."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, DraftLength

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings

DEFAULT_VERIFIER = "coupled"


@dataclass(frozen=True, slots=True)
class SamplingOverrides:
    """The sampling values that the user set; None leaves the model's recommendation, then llama.cpp's default."""

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repeat_penalty: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    penalty_last_n: int | None = None
    logit_bias: tuple[tuple[int, float], ...] | None = None
    grammar: str | None = None

    def over(self, recommended: SamplingParams) -> SamplingParams:
        """The recommended parameters with the user's in their place. Raises SettingError for a value out of range."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(recommended, **{name: value for name, value in chosen.items() if value is not None})


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """A pair of models and how the user wants answers from it.

    `drafter` None means hybrid where a draft model is loaded, else lookup. `max_tokens` 0 means until the model ends.
    `seed` None means a new one for every session. `draft` None means that no draft model is loaded.
    """

    target: Path
    draft: Path | None
    options: LoadOptions
    k: DraftLength = AUTO
    drafter: str | None = None
    verifier: str = DEFAULT_VERIFIER
    sampling: SamplingOverrides = SamplingOverrides()
    max_tokens: int = 0
    seed: int | None = None
    system: str | None = None

    def settings(self, recommended: SamplingParams, drafters: Sequence[str]) -> Settings:
        """The settings of the first turn, from what the loaded models recommend and can do.

        A chosen drafter that the loaded pair cannot serve (its draft was refused) gives way to lookup.
        Raises SettingError for a value out of range.
        """
        from specchat_engine import Settings

        drafter = self.drafter or "hybrid"
        return Settings(
            k=self.k,
            drafter=drafter if drafter in drafters else "lookup",
            verifier=self.verifier,
            sampling=self.sampling.over(recommended),
            max_tokens=self.max_tokens,
        )
