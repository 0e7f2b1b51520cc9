"""Prompt lookup: proposes what followed the last tokens the last time they occurred.

Source: Saxena, "Prompt Lookup Decoding", 2023; here the longest match decides, the latest of equal ones. Earlier
versions of the conversation and other conversations are searched too, since answers are often similar: Oliaro et al.,
"SuffixDecoding", 2024. After an edit, a copy continues where it was left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from specchat_engine.decoding.drafts import Context, Draft, Drafter, DrafterTraits, Prospect
from specchat_engine.decoding.verification import ProposalLaw
from specchat_engine.drafters.ngram_index import Match, NgramIndex
from specchat_engine.prompt.encoding import Fitted, common_prefix
from specchat_engine.settings import Settings, check_ngrams

_COPIED = 4
"""A text is a copy after it agreed with its source for this many tokens."""

_REACH = 12
"""The copy may continue within this many tokens of the source after the edit, which replaces or drops a few."""

_PATIENCE = 8
"""An edit has at most this many tokens; after more of them the text is no longer a copy."""


class CopyTracker:
    """Follows a text along its source, from match to match.

    After a changed name no earlier place ends in the same few tokens, yet the copy mostly continues right after the old
    name. So for a short while after a copy was left, a single equal token near that place counts as a match.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Starts with another text."""
        self._match: Match | None = None
        self._end = self._left = self._since = 0

    @property
    def astray(self) -> bool:
        """Whether a copy was left a moment ago and may continue."""
        return self._left > 0

    def start(self, source: int, end: int, length: int) -> None:
        """Expects a copy of what is at `source` to follow a text that ends at `end`, as sure as a match of `length`."""
        self._match, self._end = Match(source, length, resumed=True), end

    def update(self, tokens: Sequence[int], match: Match | None) -> Match | None:
        """The match to propose from after all `tokens`: the longest one, `match`, or where the copy continues."""
        self._follow(tokens)
        followed = self._match
        if followed and followed.resumed and (match is None or match.length <= followed.length):
            return followed
        if self._left and (match is None or match.length < _COPIED):
            match = self._resumed(tokens) or match
        self._match = match
        return match

    def _follow(self, tokens: Sequence[int]) -> None:
        """Advances the last match as long as the text agrees with it."""
        match, end = self._match, len(tokens)
        if match:
            source, new = match.index, end - self._end
            agreed = 0
            while agreed < new and tokens[source + agreed] == tokens[self._end + agreed]:
                agreed += 1
            copied = match.length + agreed >= _COPIED
            if agreed == new:
                self._match = Match(source + new, match.length + new, match.resumed) if new else match
                if copied:
                    self._left = 0
            else:
                self._match = None
                if copied:
                    self._left, self._since = source + agreed, self._end + agreed
        self._end = end
        if end - self._since > _PATIENCE + 1:
            self._left = 0

    def _resumed(self, tokens: Sequence[int]) -> Match | None:
        """The index after the last token, if that token is in the source near the index where it was left."""
        last = tokens[-1]
        for index in range(self._left, min(self._left + _REACH, self._since)):
            if tokens[index] == last:
                return Match(index + 1, 1, resumed=True)
        return None


_PAST = 1 << 16
"""At most this many tokens from outside the conversation are kept; above, all of them are dropped at the next turn."""


class PromptLookupDrafter(Drafter):
    """Proposes what followed the longest earlier match of the last `ngram_min` to `ngram_max` tokens.

    It searches the conversation and, if `recalls` is set, text that is no longer part of it. A turn is indexed when
    something is looked up for the first time. A predicted answer is followed from its beginning.
    """

    law: ProposalLaw = "point"
    traits = DrafterTraits("lookup", evidence="match", cost="nothing", longest=31)

    def __init__(self, ngram_min: int = 2, ngram_max: int = 32) -> None:
        check_ngrams(ngram_min, ngram_max)
        self.ngram_min = ngram_min
        self.ngram_max = ngram_max
        self.recalls = True
        self._index = NgramIndex(ngram_min, ngram_max)
        self._indexed = False
        self._conversation: list[int] = []
        self._tracker = CopyTracker()
        self._match: Match | None = None
        self._prediction: Sequence[int] = ()
        self._prompt_length = 0

    @property
    def astray(self) -> bool:
        """Whether the text has just left what it copied and may return to it at any token."""
        return self._tracker.astray

    def configure(self, settings: Settings, *, may_vary: bool) -> None:
        """Takes the settings of the next rounds. From the next turn on, other conversations and branches are searched
        as well, if the settings ask for that and drafts may depend on it."""
        if (self.ngram_min, self.ngram_max) != (settings.ngram_min, settings.ngram_max):
            self.ngram_min, self.ngram_max = settings.ngram_min, settings.ngram_max
            self._index, self._conversation = NgramIndex(self.ngram_min, self.ngram_max), []
            self._indexed = False
        if not self._indexed:
            self.recalls = may_vary and settings.lookup == "all"

    def open(self, tokens: Sequence[int], prompt: Fitted) -> None:
        """Starts a turn, which is indexed when it is needed."""
        self._indexed, self._match = False, None
        self._prediction, self._prompt_length = prompt.prediction, len(prompt.tokens)

    def begin(self, tokens: Sequence[int], cancelled: Callable[[], bool] = bool) -> None:
        """Indexes what is new in the prompt since the last turn; the conversation may have been edited."""
        self._indexed = True
        self._tracker.clear()
        common = common_prefix(self._conversation, tokens)
        turned = common < len(self._conversation)
        past = len(self._index.tokens) - len(self._conversation)
        if past > _PAST or (not self.recalls and (past or turned)):
            self._index, self._conversation = NgramIndex(self.ngram_min, self.ngram_max), []
        elif self._prediction:
            self._index.part()
            self._conversation = []
        elif turned:
            self._index.part()
            del self._conversation[common:]
            self._index.learn(self._conversation[-self.ngram_max :])
        start = len(self._index.tokens)
        if self._prediction:
            self._index.learn(self._prediction)
            self._index.part()
        self.read(tokens)
        written = tokens[self._prompt_length :]
        if self._prediction and [*written] == [*self._prediction[: len(written)]]:
            self._tracker.start(start + len(written), len(self._index.tokens), self.ngram_max)

    def read(self, tokens: Sequence[int]) -> None:
        """Indexes the tokens of the conversation that were not read yet."""
        new = tokens[len(self._conversation) :]
        self._conversation.extend(new)
        self._index.learn(new)

    def find(self, context: Context) -> Match | None:
        """The earlier place that a proposal would start from."""
        if not self._indexed:
            self.begin(context.tokens)
        self.read(context.tokens)
        self._match = self._tracker.update(self._index.tokens, self._index.find())
        return self._match

    def prospect(self, context: Context) -> Prospect:
        """The match of the last tokens."""
        match = self.find(context)
        return Prospect(match=match.length, resumed=match.resumed) if match else Prospect()

    def propose(self, context: Context, k: int) -> Draft:
        """Up to k tokens; none if the last tokens did not occur before. A match that reaches the end repeats."""
        match = self.find(context)
        if match is None:
            return Draft((), source=self.name, note="no earlier match")
        return Draft(self.continuation(match, k, context.ends), source=self.name)

    def continuation(self, match: Match, k: int, ends: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """Up to k tokens that followed the match, up to the first that ends an answer or the end of its part."""
        known = self._index.tokens
        tokens: list[int] = []
        for index in range(match.index, match.index + k):
            token = known[index] if index < len(known) else tokens[index - len(known)]
            if token < 0:
                break
            tokens.append(token)
            if token in ends:
                break
        return tuple(tokens)

    def match_continuation(self, k: int) -> tuple[int, ...]:
        """Up to k tokens that followed the last match; none without one."""
        return self.continuation(self._match, k) if self._match else ()

    def end(self, context: Context) -> None:
        """Ends the turn, and remembers its text if anything was looked up."""
        if self._indexed:
            self.read(context.tokens)
