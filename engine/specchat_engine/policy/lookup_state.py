"""Prompt lookup in a session: the text that it may search, and the match that the next round could follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import PromptLookupDrafter
from specchat_engine.drafters.ngram_index import Match
from specchat_engine.policy.allowed_drafters import Ways


class Lookout:
    """Looks for matches where that is asked for, and holds the one that was found last."""

    def __init__(self) -> None:
        self.match: Match | None = None
        self._drafter = PromptLookupDrafter()
        self._cancelled: Callable[[], bool] = bool
        self._indexed = False

    def begin(self, cancelled: Callable[[], bool]) -> None:
        """A turn begins, whose text is indexed when it is first needed."""
        self._cancelled, self._indexed = cancelled, False

    def end(self, context: Context | None) -> None:
        """The turn is over, with this context if it had any."""
        if context and self._indexed:
            self._drafter.read(context.tokens)

    @property
    def resumes(self) -> bool:
        """Whether a copy that was left is taken up again by the match."""
        return self.match is not None and self.match.resumed

    @property
    def astray(self) -> bool:
        """Whether the text has just left what it copied, and may return to it at any token."""
        return self._drafter.astray

    def drafter(self, tokens: Sequence[int], ways: Ways) -> PromptLookupDrafter:
        """Who proposes, with the n-grams of now; it knows what was said before, unless the text would depend on it.

        Raises Cancelled while it indexes.
        """
        drafter, settings = self._drafter, ways.settings
        if (drafter.ngram_min, drafter.ngram_max) != (settings.ngram_min, settings.ngram_max):
            drafter = self._drafter = PromptLookupDrafter(settings.ngram_min, settings.ngram_max)
            self._indexed = False
        if not self._indexed:
            drafter.recalls = ways.recalls
            drafter.begin(tokens, self._cancelled)
            self._indexed = True
        return drafter

    def look(self, context: Context, ways: Ways) -> int:
        """Finds the match of now; its length, 0 without one. Raises Cancelled while it indexes."""
        self.match = self.drafter(context.tokens, ways).find(context)
        return self.match.length if self.match else 0

    def foretold(self, emitted: Sequence[int]) -> Sequence[bool]:
        """Of the emitted tokens, as far as they agree with the match and one further: which of them followed it."""
        return self._drafter.foretold(self.match, emitted) if self.match else ()
