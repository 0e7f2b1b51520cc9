"""Forced tokens: drafts what the answer's grammar leaves no choice of, such as the names of properties.

The target gives each of these tokens probability 1, so all of them are accepted, and drafting them costs nothing.
"""

from __future__ import annotations

from specchat_engine.decoding.drafts import Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw
from specchat_engine.settings import GRAMMAR


class ForcedTokenDrafter(Drafter):
    """Proposes the tokens that have to come next. Without a grammar it has none."""

    law: ProposalLaw = "point"
    traits = DrafterTraits(GRAMMAR, evidence="certain", cost="nothing", longest=31)

    def prospect(self, context: Context) -> Prospect:
        """As many certain tokens as it can draft."""
        return Prospect(match=len(_forced(context, self.traits.longest)))

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens; none where the grammar leaves a choice."""
        tokens = _forced(context, k)
        return Draft(tokens, source=self.name, note="" if tokens else "the grammar leaves a choice")


def _forced(context: Context, most: int) -> tuple[int, ...]:
    constraint = context.sampler.constraint
    return constraint.forced(context.tokens, most) if constraint else ()
