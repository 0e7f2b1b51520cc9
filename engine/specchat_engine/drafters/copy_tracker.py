"""Where a copy was left, so that it is taken up again behind an edit."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.drafters.ngram_index import Match

_COPIED = 4
"""Tokens that a text has to follow its source for, to count as a copy."""

_REACH = 12
"""Tokens of the source, from where a copy was left, among which it may go on: an edit replaces or leaves out a few."""

_PATIENCE = 8
"""Tokens that an edit may have; a text that says more of its own is a copy no longer."""


class Trail:
    """Follows a text along its source, from match to match.

    Behind a changed name no earlier place ends in the same few tokens, yet the copy mostly goes on just behind the old
    name. So where a copy was left a moment ago, a single token counts as a match if it stands there.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Another text begins."""
        self._match: Match | None = None
        self._end = self._left = self._since = 0

    @property
    def astray(self) -> bool:
        """Whether a copy was left a moment ago and may be taken up again."""
        return self._left > 0

    def meet(self, tokens: Sequence[int], found: Match | None) -> Match | None:
        """The match to propose from behind all `tokens`: the longest that was `found`, or where the copy goes on."""
        self._follow(tokens)
        followed = self._match
        if followed and followed.resumed and (found is None or found.length <= followed.length):
            return followed
        if self._left and (found is None or found.length < _COPIED):
            found = self._taken_up(tokens) or found
        self._match = found
        return found

    def _follow(self, tokens: Sequence[int]) -> None:
        """Goes along the last match for as long as the text did."""
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

    def _taken_up(self, tokens: Sequence[int]) -> Match | None:
        """The place behind the last token, where that stands in the source near where it was left."""
        last = tokens[-1]
        for place in range(self._left, min(self._left + _REACH, self._since)):
            if tokens[place] == last:
                return Match(place + 1, 1, resumed=True)
        return None
