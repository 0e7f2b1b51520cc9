"""Prompt lookup in a session: the text that it may search, and the match that it found last."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.decoding.drafts import Context, Draft, Prospect
from specchat_engine.decoding.verification import Verdict
from specchat_engine.drafters import PromptLookupDrafter
from specchat_engine.drafters.ngram_index import Match
from specchat_engine.prompt.context_fit import Fitted
from specchat_engine.settings import Settings


class LookupState:
    """Prompt lookup as the planner uses it, with the n-grams of the settings. The index is built on first use."""

    traits = PromptLookupDrafter.traits
    name = PromptLookupDrafter.name
    law = PromptLookupDrafter.law
    threads = 0
    goes_back_freely = False

    def __init__(self) -> None:
        self._drafter = PromptLookupDrafter()
        self._match: Match | None = None
        self._cancelled: Callable[[], bool] = bool
        self._indexed = False

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Takes the settings of the next rounds. From the next turn on, other conversations and branches are searched
        as well, if the settings ask for that and drafts may depend on it."""
        drafter = self._drafter
        if (drafter.ngram_min, drafter.ngram_max) != (settings.ngram_min, settings.ngram_max):
            self._drafter = drafter = PromptLookupDrafter(settings.ngram_min, settings.ngram_max)
            self._indexed = False
        if not self._indexed:
            drafter.recalls = may_vary and settings.lookup == "all"

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn; the index is built anew when it is needed."""
        self._indexed, self._match = False, None

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Indexes the text. Raises Cancelled if `cancelled` says so."""
        self._drafter.begin(tokens, cancelled)
        self._indexed, self._cancelled = True, cancelled

    def prospect(self, context: Context) -> Prospect:
        """The match of the last tokens. Raises Cancelled while it indexes."""
        if not self._indexed:
            self.begin(context.tokens, self._cancelled)
        self._match = match = self._drafter.find(context)
        return Prospect(match=match.length, resumed=match.resumed) if match else Prospect()

    def foretold(self, emitted: Sequence[int]) -> Sequence[bool]:
        """Which of the emitted tokens followed the last match, up to the first that did not."""
        return self._drafter.foretold(self._match, emitted) if self._match else ()

    def propose(self, context: Context, k: int) -> Draft:
        """At most k tokens that followed the match; see PromptLookupDrafter."""
        if not self._indexed:
            self.begin(context.tokens, self._cancelled)
        return self._drafter.propose(context, k)

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Nothing to learn: the next match is looked for in the context."""

    def end(self, context: Context) -> None:
        """Ends the turn, and remembers its text."""
        if self._indexed:
            self._drafter.read(context.tokens)
