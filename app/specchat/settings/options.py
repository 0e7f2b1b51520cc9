"""What a command hands to the part that answers: models, how to load them, and what the user chose to override."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from specchat.settings.schema import LONGEST_ANSWER, Config
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

DEFAULT_VERIFIER = Settings().verifier


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """A pair of models and how the user wants answers from it.

    `draft` None means that no draft model is loaded. `chosen` holds the engine's settings that are set, and `sampling`
    the parameters that the user set, both by the engine's names; all others are the engine's defaults and what the
    model recommends. `seed` None means a new one for every session.
    """

    target: Path
    draft: Path | None
    load: LoadOptions
    chosen: Mapping[str, Any] = field(default_factory=dict)
    sampling: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    system: str | None = None

    @classmethod
    def of(cls, config: Config, target: Path, draft: Path | None, load: LoadOptions) -> ChatOptions:
        """The options of a chat with these models. Raises ConfigError or SettingError for a grammar."""
        return cls(target, draft, load, config.of(Settings), config.sampling, config.seed, config.system)

    def sampled(self, recommended: SamplingParams) -> SamplingParams:
        """The recommended parameters with the user's in their place. Raises SettingError for a value out of range."""
        return replace(recommended, **self.sampling)

    def settings(self, recommended: SamplingParams, drafters: Sequence[str], longest: int = LONGEST_ANSWER) -> Settings:
        """The settings of the first turn, from what the loaded models recommend and can do.

        The drafter is hybrid unless the user chose one, and where the loaded pair cannot serve that one, because its
        draft model was rejected. An answer has at most `longest` tokens unless the user chose another limit, 0 for
        none. Raises SettingError for a value out of range.
        """
        settings = Settings(sampling=self.sampled(recommended), **{"max_tokens": longest, **self.chosen})
        return settings if settings.drafter in drafters else replace(settings, drafter="hybrid")
