"""Adaptive n-grams: drafts the token that followed the last tokens most often, by the longest n-gram that was seen.

Source: Ou, Chen, Tian, "Lossless Acceleration of Large Language Model via Adaptive N-gram Parallel Decoding",
arXiv 2404.08698. Prompt lookup copies what followed the latest match; this counts what followed all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specchat_engine.decoding.drafts import Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw
from specchat_engine.prompt.encoding import Fitted, common_prefix

_ORDERS = (4, 3, 2)
"""The numbers of tokens before a token by which it is predicted, the most specific first."""

_UNSEEN = "the last tokens did not occur before"


class AdaptiveNgramDrafter(Drafter):
    """Counts which token follows each n-gram of the conversation. It needs no model and no training."""

    law: ProposalLaw = "point"
    traits = DrafterTraits("anpd", evidence="nothing", cost="nothing", longest=16)

    def __init__(self) -> None:
        self._text: list[int] = []
        self._following: dict[tuple[int, ...], Counter[int]] = {}

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn, and counts anew if the conversation is another one. Within a turn the text only grows."""
        if common_prefix(self._text, tokens) < len(self._text):
            self._text, self._following = [], {}

    def prospect(self, context: Context) -> Prospect:
        """It can draft if the last tokens occurred before."""
        self._read(context.tokens)
        return Prospect(note="" if self._likeliest(self._text) is not None else _UNSEEN)

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, each the likeliest one after those before it."""
        self._read(context.tokens)
        tokens: list[int] = []
        last = self._text[-max(_ORDERS) :]
        while len(tokens) < k and (token := self._likeliest(last)) is not None:
            tokens.append(token)
            last = [*last, token][-max(_ORDERS) :]
            if token in context.ends:
                break
        return Draft(tuple(tokens), source=self.name, note="" if tokens else _UNSEEN)

    def _read(self, tokens: Sequence[int]) -> None:
        """Counts what is new in the text."""
        for token in tokens[len(self._text) :]:
            for order in _ORDERS:
                if order <= len(self._text):
                    self._following.setdefault(tuple(self._text[-order:]), Counter())[token] += 1
            self._text.append(token)

    def _likeliest(self, tokens: Sequence[int]) -> int | None:
        """Returns the most frequent token after the longest n-gram at the end of a text; None if none was seen."""
        for order in _ORDERS:
            if following := self._following.get(tuple(tokens[-order:])):
                return following.most_common(1)[0][0]
        return None
