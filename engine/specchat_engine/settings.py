"""What a user may turn while an answer streams: it takes effect at the next round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams

DraftLength = int | Literal["auto"]
AUTO: Final = "auto"
"""The k that is chosen anew before each round, by what passes cost and what was accepted."""

USUAL_K: Final = 4
"""A fixed k to begin with, where there is to be one."""

DRAFTERS = ("hybrid", "model", "lookup", "none")
SEARCHED = ("all", "conversation")
VERIFIER_NAMES = ("coupled", "rejection", "block", "typical")
LOSSY_VERIFIERS = ("typical",)
"""The names of `verifiers.VERIFIERS`, which needs numpy: settings are read where nothing is computed."""

K_LIMIT = 256
NGRAM_LIMIT = 64


def check_ngrams(shortest: int, longest: int) -> None:
    """Raises SettingError for n-gram lengths that prompt lookup cannot have."""
    if not 1 <= shortest <= longest <= NGRAM_LIMIT:
        raise SettingError(f"the n-gram lengths are {shortest} to {longest}: use 1 <= min <= max <= {NGRAM_LIMIT}")


@dataclass(frozen=True, slots=True)
class Settings:
    """How the next round is made. `k` 0 and drafter "none" are plain decoding; `max_tokens` 0 means until the end.

    The drafter "hybrid" is the draft model or prompt lookup, whichever promises more in each round; without a draft
    model it is prompt lookup. From the next turn on that searches "all" that the session has said and read, or the
    "conversation" alone, as it always does where the text depends on drafts. Raises SettingError for a value that it
    cannot have.
    """

    k: DraftLength = AUTO
    drafter: str = "hybrid"
    verifier: str = "coupled"
    sampling: SamplingParams = field(default_factory=SamplingParams)
    max_tokens: int = 0
    stop: tuple[str, ...] = ()
    lookup: str = "all"
    ngram_min: int = 2
    ngram_max: int = 32

    def __post_init__(self) -> None:
        if self.k != AUTO and not (isinstance(self.k, int) and 0 <= self.k <= K_LIMIT):
            raise SettingError(f"k is {self.k}: use auto, or 0 (plain decoding) to {K_LIMIT}")
        if self.drafter not in DRAFTERS:
            raise SettingError(f"the drafter is {self.drafter!r}: use {', '.join(DRAFTERS)}")
        if self.verifier not in VERIFIER_NAMES:
            raise SettingError(f"the verifier is {self.verifier!r}: use {', '.join(VERIFIER_NAMES)}")
        if self.lookup not in SEARCHED:
            raise SettingError(f"lookup is {self.lookup!r}: use {', '.join(SEARCHED)}")
        if self.max_tokens < 0:
            raise SettingError(f"max tokens is {self.max_tokens}: use 0 (until the end) or more")
        check_ngrams(self.ngram_min, self.ngram_max)
        if "" in self.stop:
            raise SettingError("a stop string is empty: it would end every answer at once")
