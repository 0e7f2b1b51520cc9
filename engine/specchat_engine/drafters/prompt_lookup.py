"""Prompt lookup: what followed the last time these tokens stood here follows again.

Source: Saxena, "Prompt Lookup Decoding", 2023; here the longest match decides, of equal ones the latest. What was said
before a conversation turned, or in another one, is looked through as well, since the next answer is often like it:
Oliaro et al., "SuffixDecoding", 2024. Behind an edit the copy is taken up again where it was left (trail.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.decoding.drafts import Context, Draft, DrafterTraits
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.drafters.copy_tracker import Trail
from specchat_engine.drafters.ngram_index import Match, MatchIndex
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.settings import check_ngrams

_PAST = 1 << 16
"""Tokens that are kept beside the conversation; where there are more, all of them are forgotten at its next turn."""


class PromptLookupDrafter:
    """Proposes what followed the longest earlier match of the last tokens, of `ngram_min` to `ngram_max` of them.

    The text that is searched is all that was said: the conversation and, where it `recalls`, what that no longer holds.
    """

    name = "lookup"
    law: ProposalLaw = "point"
    traits = DrafterTraits(name, evidence="match", cost="nothing", longest=31)

    def __init__(self, ngram_min: int = 2, ngram_max: int = 32) -> None:
        check_ngrams(ngram_min, ngram_max)
        self.ngram_min = ngram_min
        self.ngram_max = ngram_max
        self.recalls = True
        self._index = MatchIndex(ngram_min, ngram_max)
        self._conversation: list[int] = []
        self._trail = Trail()

    @property
    def astray(self) -> bool:
        """Whether the text has just left what it copied, and may return to it at any token."""
        return self._trail.astray

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Indexes what the prompt has beyond the last turn, which it may have turned away from."""
        self._trail.clear()
        common = common_prefix(self._conversation, tokens)
        turned = common < len(self._conversation)
        past = len(self._index.tokens) - len(self._conversation)
        if past > _PAST or (not self.recalls and (past or turned)):
            self._index, self._conversation = MatchIndex(self.ngram_min, self.ngram_max), []
        elif turned:
            self._index.part()
            del self._conversation[common:]
            self._index.learn(self._conversation[-self.ngram_max :])
        self.read(tokens)

    def read(self, tokens: Sequence[int]) -> None:
        """Indexes what the conversation says beyond what was read of it."""
        new = tokens[len(self._conversation) :]
        self._conversation.extend(new)
        self._index.learn(new)

    def find(self, context: Context) -> Match | None:
        """The earlier place that a proposal would start from."""
        self.read(context.tokens)
        return self._trail.meet(self._index.tokens, self._index.find())

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens; nothing where the last tokens never stood before. A run that reaches the end repeats."""
        match = self.find(context)
        if match is None:
            return Draft((), source=self.name, note="no earlier match")
        return Draft(self.continuation(match, k, context.ends), source=self.name)

    def continuation(self, match: Match, k: int, ends: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """Up to k tokens that followed the match, the last of them the first that ends an answer, or what was said."""
        known = self._index.tokens
        tokens: list[int] = []
        for place in range(match.place, match.place + k):
            token = known[place] if place < len(known) else tokens[place - len(known)]
            if token < 0:
                break
            tokens.append(token)
            if token in ends:
                break
        return tuple(tokens)

    def foretold(self, match: Match, emitted: Sequence[int]) -> list[bool]:
        """Of the emitted tokens, as far as they agree with the match and one further: which of them followed it."""
        said: list[bool] = []
        for token, foretold in zip(emitted, self.continuation(match, len(emitted)), strict=False):
            said.append(token == foretold)
            if token != foretold:
                break
        return said

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Nothing to learn here: the next proposal reads the context."""
