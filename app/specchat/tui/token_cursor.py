"""A mark that moves over the tokens of an answer, those that were thrown away included."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from specchat_engine.decoding.rounds import Round, TokenKind


def tokens_of(event: Round) -> int:
    """How many tokens a round is about: the drafted ones and the target's own where there is one."""
    return len(event.drafted) + (event.token.kind is not TokenKind.NONE)


class TokenCursor:
    """Stands on one token: `index` counts all of the answer's, from 0; it begins on the last."""

    def __init__(self, rounds: Sequence[Round]) -> None:
        self._ends = list(accumulate(map(tokens_of, rounds)))
        self._indices = [event.index for event in rounds]
        self.index = max(0, self.count - 1)

    @property
    def count(self) -> int:
        """How many tokens there are."""
        return self._ends[-1] if self._ends else 0

    @property
    def round_index(self) -> int:
        """The `Round.index` of the round of this token."""
        return self._indices[self._at]

    @property
    def place(self) -> int:
        """Its place among the round's tokens; the target's own comes behind the drafted ones."""
        return self.index - (self._ends[self._at - 1] if self._at else 0)

    def move(self, steps: int) -> None:
        """Goes so many tokens on, or back, as far as there are any."""
        self.index = min(max(0, self.index + steps), max(0, self.count - 1))

    def move_rounds(self, steps: int) -> None:
        """Goes so many rounds on, or back, to the same place in the round or its last one."""
        place = self.place
        at = min(max(0, self._at + steps), len(self._ends) - 1)
        begin = self._ends[at - 1] if at else 0
        self.index = min(begin + place, self._ends[at] - 1)

    @property
    def _at(self) -> int:
        return min(bisect_right(self._ends, self.index), max(0, len(self._ends) - 1))
