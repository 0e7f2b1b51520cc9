"""A branch beside a draft model's chain: a runner-up that the draft model reads, and what it would draft after it.

Each pass of a draft reads the chain's last token. Where a pass over two tokens is worth it, the second one is the end
of the likeliest branch: a runner-up, then the token that was drawn after it, and so on. A likelier runner-up takes its
place. So a branch costs no passes of its own. Source: dynamic trees by confidence, as in Li et al., "EAGLE-2", arXiv
2406.16858, here with one branch at a time: more gained nothing in the replay of recorded answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Alternative, Branches, Context, Draft
from specchat_engine.models import ForkingModel


def drawn(context: Context, row: NDArray[np.float32], before: Sequence[int]) -> Alternative:
    """What a draft model draws from its row [V] after these drafted tokens, with its confidence if that is asked."""
    proposer = context.proposer
    candidates = proposer.candidates(row, context.tokens, before)
    sharpened = candidates.sharpened(context.sharpness)
    token = proposer.draw(sharpened, context.position + len(before))
    sure = proposer.confidence(row, candidates, token) if context.worth_more else 0.0
    return Alternative((*before, token), sure, runner_up=False, row=sharpened)


class SideBranch:
    """The branch beside one chain, which begins after the tokens of the context."""

    def __init__(self, model: ForkingModel, context: Context, branches: Branches) -> None:
        self._model, self._context, self._branches = model, context, branches
        self._start = len(context.tokens)
        self._read: set[tuple[int, ...]] = set()
        self._end: Alternative | None = None

    def next_row(self, draft: Draft) -> tuple[NDArray[np.float32], list[Alternative]]:
        """The logits [V] after the chain, whose last token is read, and what was drafted beside it meanwhile."""
        token, waiting = draft.tokens[-1], [one for one in draft.alternatives if one.runner_up]
        ends = [one for one in (self._end, *waiting) if one and self._is_open(one)]
        best = self._branches.next_read(draft, ends)
        if best is None:
            return self._model.advance((token,), 1)[0], []
        if best is not self._end:
            self._model.fork(self._start + len(best.path) - 1)
        self._read.add(best.path)
        row, beside = self._model.advance_both(token, best.path[-1])
        self._end = drawn(self._context, beside, best.path)
        return row, [self._end]

    @property
    def forked(self) -> bool:
        """Whether anything was read beside the chain."""
        return bool(self._read)

    def join(self) -> None:
        """Keeps what the context, which has grown, goes on with, of the chain or of the branch."""
        self._model.join(self._context.tokens[:-1], self._start - 1)

    def _is_open(self, one: Alternative) -> bool:
        return one.path not in self._read and one.path[-1] not in self._context.ends
