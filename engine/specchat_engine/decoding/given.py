"""Drafts that somebody else makes, such as the other side of split speculation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.verification import ProposalLaw, Verdict


@dataclass(frozen=True, slots=True)
class GivenDrafter:
    """Proposes tokens that it was given. What becomes of them is learned by whoever gave them."""

    tokens: Sequence[int]
    name: ClassVar[str] = "given"
    law: ClassVar[ProposalLaw] = "unknown"

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Nothing: there is nothing to read."""

    def propose(self, context: Context, k: int) -> Draft:
        """The first k of the given tokens."""
        return Draft(tuple(self.tokens[:k]), source=self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Nothing."""
