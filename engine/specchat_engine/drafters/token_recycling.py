"""Token recycling: drafts from the target's own earlier candidates, kept for each token.

Source: Luo et al., "Turning Trash into Treasure: Accelerating Inference of Large Language Models with Token Recycling",
arXiv 2408.08696. There a matrix has the best next tokens after each token, from the last pass over it, and a static
tree is drafted from it. Here the logits are kept as well, so that tokens are drawn as from a draft model: with the
target's noise and with a confidence, by which the draft ends and branches.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Alternative, Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.settings import Settings

_KEPT = 8
"""So many candidates are kept for each token."""

_UNSEEN = "nothing was seen after this token yet"


class TokenRecyclingDrafter(Drafter):
    """Knows which tokens the target last thought likely after each token. It needs no model, no text and no training.

    What it has seen stays for the next turns: it depends on more than the conversation, unless drafts may not.
    """

    law: ProposalLaw = "drawn"
    traits = DrafterTraits("recycling", evidence="confidence", cost="nothing", longest=8, sharpens=True)

    def __init__(self) -> None:
        self._after: dict[int, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Forgets the passes of earlier turns if drafts may not depend on them."""
        if not may_vary:
            self._after.clear()

    def prospect(self, context: Context) -> Prospect:
        """It can draft if the last token was seen before."""
        return Prospect(note="" if context.tokens[-1] in self._after else _UNSEEN)

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, each drawn from what the target last thought after the one before it."""
        worth_more = context.worth_more
        tokens: list[int] = []
        rows: list[Candidates] = []
        confidence: list[float] = []
        alternatives: list[Alternative] = []
        last = context.tokens[-1]
        while len(tokens) < k and last in self._after:
            row, last, second, sure = self._drawn(context, last, context.position + len(tokens))
            tokens.append(last)
            rows.append(row)
            if context.branches:
                alternatives.append(Alternative((*tokens[:-1], second), sure, row=row))
            if worth_more:
                confidence.append(sure)
                if not worth_more(sure):
                    break
            if last in context.ends:
                break
        note = "" if tokens else _UNSEEN
        return Draft(tuple(tokens), tuple(rows), self.name, note, tuple(confidence), alternatives=tuple(alternatives))

    def watch(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Keeps the candidates after the context's last token and after each accepted one."""
        tokens = (context.tokens[-1], *draft.tokens)
        for row in verdict.places:
            best = np.argpartition(logits[row], -_KEPT)[-_KEPT:]
            best.sort()
            self._after[tokens[row]] = best, logits[row][best].astype(np.float64)

    def _drawn(self, context: Context, last: int, position: int) -> tuple[Candidates, int, int, float]:
        """The row of q after a token, what is drawn from it, what else would be, and how sure the target was."""
        ids, logits = self._after[last]
        proposer = context.proposer
        temperature = proposer.params.temperature
        if temperature == 0:
            *_, second, best = logits.argsort()
            share = 1 / np.exp(logits - logits[best]).sum()
            return Candidates.certain(int(ids[best])), int(ids[best]), int(ids[second]), float(share)
        scaled = (logits - logits.max()) / temperature
        row = Candidates(ids, scaled - np.log(np.exp(scaled).sum()))
        sharpened = row.sharpened(context.sharpness)
        token = proposer.draw(sharpened, position)
        others = ids != token
        second = proposer.draw(Candidates(ids[others], sharpened.log_p[others]), position)
        return sharpened, token, second, row.probability(token)
