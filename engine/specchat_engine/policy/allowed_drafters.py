"""What settings allow a round to be made of."""

from __future__ import annotations

from dataclasses import dataclass

from specchat_engine.decoding.verification import Verifier
from specchat_engine.settings import AUTO, Settings
from specchat_engine.verifiers import VERIFIERS


@dataclass(frozen=True, slots=True)
class Ways:
    """Who may draft under these settings, by which rule, and why nobody may."""

    settings: Settings
    model: bool
    lookup: bool
    verifier: Verifier
    because: str

    @classmethod
    def under(cls, settings: Settings, *, has_draft: bool, plain_because: str = "") -> Ways:
        """Where a draft model was asked for and there is none, lookup drafts.

        `plain_because` says why the target cannot speculate, empty if it can.
        """
        off = settings.k == 0 or settings.drafter == "none" or bool(plain_because)
        model = not off and has_draft and settings.drafter in ("model", "hybrid")
        lookup = not off and (settings.drafter in ("lookup", "hybrid") or not has_draft)
        because = plain_because or ("k is 0" if settings.k == 0 else "no drafter")
        return cls(settings, model, lookup, VERIFIERS[settings.verifier], because)

    @property
    def free(self) -> bool:
        """Whether drafts may depend on more than the prompt, the seed and the settings.

        Not where the text depends on them: there a fixed k and a seed are to give the same text again.
        """
        return self.settings.k == AUTO or (self.verifier.couples and self.verifier.lossless)

    @property
    def chooses(self) -> bool:
        """Whether it is decided again and again who drafts, or how many tokens."""
        return (self.model and self.lookup) or (self.settings.k == AUTO and (self.model or self.lookup))

    @property
    def recalls(self) -> bool:
        """Whether lookup may search what was said before, in another conversation or branch."""
        return self.free and self.settings.lookup == "all"
