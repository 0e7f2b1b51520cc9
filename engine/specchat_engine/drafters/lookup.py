"""Prompt lookup: what followed the last time these tokens stood here follows again.

Source: Saxena, "Prompt Lookup Decoding", 2023; the n-gram index makes a proposal independent of the context's length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.drafts import Context, Draft
from specchat_engine.prefix import common_prefix
from specchat_engine.settings import check_ngrams
from specchat_engine.verify import ProposalLaw, Verdict


class PromptLookupDrafter:
    """Proposes what followed the most recent earlier place that ends with the same n tokens, longest n first."""

    name = "lookup"
    law: ProposalLaw = "point"

    def __init__(self, ngram_min: int = 2, ngram_max: int = 4) -> None:
        check_ngrams(ngram_min, ngram_max)
        self.ngram_min = ngram_min
        self.ngram_max = ngram_max
        self._tokens: list[int] = []
        self._places: dict[tuple[int, ...], list[int]] = {}

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Indexes the prompt, keeping what the last turn has in common with it."""
        common = common_prefix(self._tokens, tokens)
        self._forget(common)
        self._learn(tokens[common:])

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens; nothing where the last n tokens never stood before. A run that reaches the end repeats."""
        self._learn(context.tokens[len(self._tokens) :])
        start = self._continuation()
        if start is None:
            return Draft((), source=self.name, note="no earlier match")
        tokens: list[int] = []
        for place in range(start, start + k):
            token = self._tokens[place] if place < len(self._tokens) else tokens[place - len(self._tokens)]
            tokens.append(token)
            if token in context.ends:
                break
        return Draft(tuple(tokens), source=self.name)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Nothing to learn here: the next proposal reads the context."""

    def _continuation(self) -> int | None:
        """Where the text went on behind the most recent earlier occurrence of the longest matching n-gram."""
        end = len(self._tokens)
        for length in range(min(self.ngram_max, end - 1), self.ngram_min - 1, -1):
            places = self._places.get(tuple(self._tokens[end - length :]))
            if places and len(places) > 1:
                return places[-2]
        return None

    def _learn(self, tokens: Sequence[int]) -> None:
        """Appends tokens; every n-gram that ends with one of them is registered under the place behind it."""
        for token in tokens:
            self._tokens.append(token)
            end = len(self._tokens)
            for length in range(self.ngram_min, min(self.ngram_max, end) + 1):
                self._places.setdefault(tuple(self._tokens[end - length :]), []).append(end)

    def _forget(self, length: int) -> None:
        """Takes the last tokens back, newest first, so that each n-gram's last place is the one to drop."""
        while len(self._tokens) > length:
            end = len(self._tokens)
            for size in range(self.ngram_min, min(self.ngram_max, end) + 1):
                gram = tuple(self._tokens[end - size :])
                places = self._places[gram]
                places.pop()
                if not places:
                    del self._places[gram]
            self._tokens.pop()
