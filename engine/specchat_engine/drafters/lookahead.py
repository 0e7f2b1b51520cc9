"""Lookahead decoding: a window of guesses that the target corrects in every pass, and the n-grams that come out of it.

Source: Fu et al., "Break the Sequential Dependency of LLM Inference Using Lookahead Decoding", arXiv 2402.02057. The
window has WINDOW columns and NGRAM - 1 rows. Each pass computes, for each column, the token that follows its rows: a
Jacobi iteration. Column and new token are an n-gram for the pool. In the same pass, n-grams of the pool that begin with
the last token are verified. Both are branches of one tree.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import ROOT, Context, Draft, Drafter, DrafterTraits
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.models import BranchingModel, CausalModel
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.settings import Settings

WINDOW: Final = 5
NGRAM: Final = 4
VERIFIED: Final = 4
"""So many n-grams are verified in a pass at most, the latest ones."""

_WIDEST: Final = (NGRAM - 1) * (WINDOW + VERIFIED)


class LookaheadDrafter(Drafter):
    """Needs neither a model nor a text, but passes that are much wider, so it pays only where width costs little.

    Any token of the tree may be accepted, those of the window too.
    """

    law: ProposalLaw = "point"
    traits = DrafterTraits(
        "lookahead", evidence="nothing", cost="nothing", longest=NGRAM - 1, beside=_WIDEST - NGRAM + 1
    )

    def __init__(self) -> None:
        self._pool: dict[int, deque[tuple[int, ...]]] = {}
        self._window: list[list[int]] = []
        self._tips: list[int] = []

    def unfit(self, target: CausalModel) -> str:
        """Returns why it cannot draft: the target's passes have to be wide enough, and its memory has to branch."""
        if isinstance(target, BranchingModel) and target.max_leaves >= WINDOW + VERIFIED and target.max_rows > _WIDEST:
            return ""
        return (
            f"the drafter 'lookahead' needs passes over {_WIDEST + 1} tokens of several continuations, for which this "
            "target's memory or the k it was loaded for is too small: use lookup"
        )

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn, with a window of tokens of the prompt, which are as good a guess as any."""
        dice = random.Random(len(tokens))
        self._window = [[dice.choice(tokens) for _ in range(WINDOW)] for _ in range(NGRAM - 1)] if tokens else []

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Forgets the n-grams of earlier turns if drafts may not depend on them."""
        if not may_vary:
            self._pool.clear()

    def propose(self, context: Context, k: int) -> Draft:
        """The n-grams that begin with the last token, up to k tokens of each, and the window."""
        tree = _Tree()
        for ngram in reversed(self._pool.get(context.tokens[-1], ())):
            node = ROOT
            for token in ngram[:k]:
                node = tree.add(token, node)
        self._tips, first = [], ROOT
        for column in zip(*self._window, strict=True):
            node = first = tree.add(column[0], first)
            for token in column[1:]:
                node = tree.add(token, node)
            self._tips.append(node)
        return Draft(tuple(tree.tokens), source=self.name, parents=tuple(tree.parents))

    def watch(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Moves the window on by one row, and keeps its columns as n-grams."""
        if draft.source != self.name:
            return
        new = [int(logits[tip + 1].argmax()) for tip in self._tips]
        for column in zip(*self._window, new, strict=True):
            known = self._pool.setdefault(column[0], deque(maxlen=VERIFIED))
            if column[1:] in known:
                known.remove(column[1:])
            known.append(column[1:])
        self._window = [*self._window[1:], new]


class _Tree:
    """Tokens and their parents; a token is the same node wherever it follows the same ones."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._nodes: dict[tuple[int, int], int] = {}

    def add(self, token: int, parent: int) -> int:
        """The node of this token after its parent."""
        if (parent, token) not in self._nodes:
            self._nodes[parent, token] = len(self.tokens)
            self.tokens.append(token)
            self.parents.append(parent)
        return self._nodes[parent, token]
