"""Follows a text that copies an earlier one, and finds where the copy continues after an edit."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.drafters.ngram_index import Match

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

    def start(self, place: int, end: int, length: int) -> None:
        """Expects a copy of what is at `place` to follow a text that ends at `end`, as sure as a match of `length`."""
        self._match, self._end = Match(place, length, resumed=True), end

    def update(self, tokens: Sequence[int], found: Match | None) -> Match | None:
        """The match to propose from after all `tokens`: the longest that was `found`, or where the copy continues."""
        self._follow(tokens)
        followed = self._match
        if followed and followed.resumed and (found is None or found.length <= followed.length):
            return followed
        if self._left and (found is None or found.length < _COPIED):
            found = self._resumed(tokens) or found
        self._match = found
        return found

    def _follow(self, tokens: Sequence[int]) -> None:
        """Advances the last match as long as the text agrees with it."""
        match, end = self._match, len(tokens)
        if match:
            place, new = match.place, end - self._end
            agreed = 0
            while agreed < new and tokens[place + agreed] == tokens[self._end + agreed]:
                agreed += 1
            copied = match.length + agreed >= _COPIED
            if agreed == new:
                self._match = Match(place + new, match.length + new, match.resumed) if new else match
                if copied:
                    self._left = 0
            else:
                self._match = None
                if copied:
                    self._left, self._since = place + agreed, self._end + agreed
        self._end = end
        if end - self._since > _PATIENCE + 1:
            self._left = 0

    def _resumed(self, tokens: Sequence[int]) -> Match | None:
        """The place after the last token, if that token is in the source near the place where it was left."""
        last = tokens[-1]
        for place in range(self._left, min(self._left + _REACH, self._since)):
            if tokens[place] == last:
                return Match(place + 1, 1, resumed=True)
        return None
