"""A draft model that is itself sped up: its next tokens are looked up, and it checks several of them in one pass.

Three levels: lookup drafts for the draft model, and the draft model for the target. What the draft model proposes is
the same as without the lookup, since each of its tokens is drawn from the row that follows those before it; only the
number of its passes changes. Sources: Spector, Re, "Accelerating LLM Inference with Staged Speculative Decoding", arXiv
2308.04623; Sun et al., "TriForce", arXiv 2404.11912.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.drafters.model import ModelDrafter
from specchat_engine.models import SessionModel
from specchat_engine.prompt.encoding import Fitted, common_prefix

_NGRAM: Final = 3
"""A guess follows the last occurrence of this many tokens."""

GUESSED: Final = 6
"""So many tokens are guessed at a time."""


class HierarchyDrafter(ModelDrafter):
    """Draws from a draft model that can give GUESSED + 1 rows of logits in a pass."""

    def __init__(self, model: SessionModel, name: str = ModelDrafter.name) -> None:
        super().__init__(model, name)
        self._places: dict[tuple[int, ...], int] = {}
        self._indexed: list[int] = []
        self._ahead: list[tuple[int, NDArray[np.float32]]] = []

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Opens a turn with these tokens; guesses no longer come from what they do not contain."""
        super().open(tokens, prompt)
        if common_prefix(self._indexed, tokens) < len(self._indexed):
            self._places, self._indexed = {}, []

    def propose(self, context: Context, k: int) -> Draft:
        """As a draft model does, in fewer passes."""
        self._ahead = []
        self._index(context.tokens)
        draft = super().propose(context, k)
        self.model.rewind(min(self.model.length, len(context.tokens) + max(len(draft.tokens), 1) - 1))
        return draft

    def _branch(self, context: Context, k: int) -> None:
        """Nothing: its passes read guesses beside the chain."""

    def _next_row(self, context: Context, tokens: Sequence[int]) -> NDArray[np.float32]:
        """The row after the tokens so far: known already if a guess was right, else of a pass over new guesses."""
        if tokens and self._ahead:
            (guessed, row), *self._ahead = self._ahead
            if guessed == tokens[-1]:
                return row
        self._ahead = []
        text = [*context.tokens, *tokens]
        self.model.rewind(min(self.model.length, len(text) - 1))
        unread = text[self.model.length :]
        guess = self._guess(text)[: self.model.capacity - len(text)]
        rows = self.model.advance([*unread, *guess], len(guess) + 1).copy()
        self._ahead = list(zip(guess, rows[1:], strict=True))
        next_row: NDArray[np.float32] = rows[0]
        return next_row

    def _guess(self, text: Sequence[int]) -> Sequence[int]:
        """What followed the last tokens the last time, at most GUESSED tokens."""
        index = self._places.get(tuple(text[-_NGRAM:]), len(self._indexed))
        return self._indexed[index : index + min(GUESSED, self.model.max_rows - 1)]

    def _index(self, tokens: Sequence[int]) -> None:
        """Takes in what is new of the conversation."""
        known = len(self._indexed)
        self._indexed += tokens[known:]
        for end in range(max(known, _NGRAM), len(self._indexed)):
            self._places[tuple(self._indexed[end - _NGRAM : end])] = end
