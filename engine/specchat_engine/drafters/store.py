"""Drafts what followed the last tokens in stored texts: files, folders, past chats.

Sources: He et al., "REST", arXiv 2311.08252; Oliaro et al., "SuffixDecoding", arXiv 2411.04975.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from specchat_engine.decoding.drafts import Alternative, Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw, Verdict
from specchat_engine.prompt.encoding import Fitted
from specchat_engine.settings import Settings
from specchat_engine.stores import Occurrences, Suffixes

_ALTERNATIVES = 16
"""This many tokens are named beside the chain. The policy chooses from them."""


class Stores:
    """The stores that are in use, by name. Other threads may exchange them at any time.

    `hits` counts the tokens of each one that were drafted and accepted.
    """

    def __init__(self) -> None:
        self.used: Mapping[str, Suffixes] = {}
        self.hits: dict[str, int] = {}

    def taken_hits(self) -> dict[str, int]:
        """The hits since the last call."""
        taken, self.hits = self.hits, {}
        return taken


class StoreDrafter(Drafter):
    """Proposes what followed the longest match in any of the stores most often, of the more frequent of equal ones.

    What else followed are the alternatives, runners-up of runners-up included.
    """

    law: ProposalLaw = "point"
    traits = DrafterTraits("store", evidence="match", cost="nothing", longest=31)

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._shortest = Settings().ngram_min
        self._found: tuple[str, Suffixes, Occurrences] | None = None
        self._looked_at = -1

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn."""
        self._found, self._looked_at = None, -1

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Takes the shortest match from the settings."""
        self._shortest, self._looked_at = settings.ngram_min, -1

    def prospect(self, context: Context) -> Prospect:
        """The match of the last tokens."""
        best = self._find(context.tokens)
        return Prospect(match=best[2].length) if best else Prospect()

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens, up to the first that ends an answer."""
        best = self._find(context.tokens)
        if best is None:
            return Draft((), source=self.name, note="no match in the stores")
        _, suffixes, places = best
        continuation = suffixes.continuation(places, k, _ALTERNATIVES if context.branches else 0)
        ending = next(
            (length for length, token in enumerate(continuation.tokens, 1) if token in context.ends),
            len(continuation.tokens),
        )
        alternatives = tuple(
            Alternative(
                other.path, other.share if other.runner_up else places.length + len(other.path) - 1, other.runner_up
            )
            for other in continuation.others
            if context.ends.isdisjoint(other.path[:-1])
        )
        return Draft(continuation.tokens[:ending], source=self.name, alternatives=alternatives)

    def match_continuation(self, k: int) -> tuple[int, ...]:
        """Up to k tokens that followed the last match most often; none without one."""
        if self._found is None:
            return ()
        _, suffixes, places = self._found
        return suffixes.continuation(places, k).tokens

    def observe(self, context: Context, draft: Draft, verdict: Verdict) -> None:
        """Counts the accepted tokens."""
        accepted = len(verdict.nodes)
        if self._found and accepted:
            name, hits = self._found[0], self._stores.hits
            hits[name] = hits.get(name, 0) + accepted

    def _find(self, tokens: Sequence[int]) -> tuple[str, Suffixes, Occurrences] | None:
        if self._looked_at != len(tokens):
            self._looked_at = len(tokens)
            searches = (
                (name, suffixes, suffixes.find(tokens, self._shortest)) for name, suffixes in self._stores.used.items()
            )
            matches = [(name, suffixes, occurrences) for name, suffixes, occurrences in searches if occurrences]
            self._found = max(matches, key=lambda match: (match[2].length, match[2].count), default=None)
        return self._found
