"""What a user may turn while an answer streams: it takes effect at the next round."""

from __future__ import annotations

from dataclasses import dataclass, field

from specchat_engine.errors import SettingError
from specchat_engine.params import SamplingParams

DRAFTERS = ("model", "lookup", "none")
K_LIMIT = 256


@dataclass(frozen=True, slots=True)
class Settings:
    """How the next round is made. `k` 0 and drafter "none" are plain decoding; `max_tokens` 0 means until the end.

    Raises SettingError for a value that it cannot have.
    """

    k: int = 4
    drafter: str = "model"
    sampling: SamplingParams = field(default_factory=SamplingParams)
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    ngram_min: int = 2
    ngram_max: int = 4

    def __post_init__(self) -> None:
        if not 0 <= self.k <= K_LIMIT:
            raise SettingError(f"k is {self.k}: use 0 (plain decoding) to {K_LIMIT}; 3 to 8 is usual")
        if self.drafter not in DRAFTERS:
            raise SettingError(f"the drafter is {self.drafter!r}: use {', '.join(DRAFTERS)}")
        if self.max_tokens < 0:
            raise SettingError(f"max tokens is {self.max_tokens}: use 0 (until the end) or more")
        if not 1 <= self.ngram_min <= self.ngram_max <= 16:
            raise SettingError(
                f"the n-gram lengths are {self.ngram_min} to {self.ngram_max}: use 1 <= min <= max <= 16"
            )
        if "" in self.stop:
            raise SettingError("a stop string is empty: it would end every answer at once")
