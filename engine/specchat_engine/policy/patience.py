"""For how many rounds a decision is followed: deciding takes time too, most of all behind quick passes."""

from __future__ import annotations

from specchat_engine.policy.costs import following
from specchat_engine.policy.situation import Decision

_THINKING_SHARE, _PLAINLY = 0.0015, 0.6
"""Deciding may take that share of the time, and only a part of it where nothing is drafted, from which little is
learned: where passes are quick, a decision is followed for some rounds more."""

_FOLLOWED, _LOOKS = 24, 4
"""A decision is followed so many rounds at most, of which one in so many looks for a match: twice as many each where
something is drafted, and under the second decision in a row by which nothing is, four times as many from its third on.
"""

_GROWS, _KNOWING = 2, 11
"""The n-th decision of an answer, if by it something is drafted, is followed so many times n rounds at most: most is
learned at the beginning. Where drafts on this kind of text are known, the n-th counts as one so many places later."""

_WATCHED = 24
"""So many rounds look for a match each, in an answer to a pasted text and behind each decision for one: looking costs
some hundredths of a millisecond, and a copy that begins a few tokens later costs as many passes."""

_STRIKING, _WATCHED_FOR = {"none": 4, "model": 8}, {"none": 3, "model": 4}
"""A match so long ends what was decided without one, or a shorter one that was watched for."""

_HELD, _SHORT = 4, 0.85
"""Behind so many rounds, and where a match is looked for, a decision ends that gave less than that share of the tokens
that it had promised."""

_FOLLOWS = 0.2


class Patience:
    """Of an answer: what deciding and rounds take, and whether decisions for no draft come one behind the other."""

    __slots__ = ("_calm", "_drafts", "_granted", "_made", "_round_ms", "_thinking_ms", "_watched")

    def __init__(self) -> None:
        self._thinking_ms = self._round_ms = 0.0
        self._made = self._calm = self._watched = self._granted = 0
        self._drafts = False

    @property
    def watches(self) -> bool:
        """Whether a copy may begin at any token, so that each round looks for a match."""
        return self._watched > 0

    def begin(self, *, known: bool = False, hopeless: bool = False, copies: bool = False) -> None:
        """An answer begins. How well drafts follow its kind of text is `known`, or that they are `hopeless`, as if that
        had been decided; `copies`: it probably copies what was pasted.
        """
        self._made, self._calm = _KNOWING * known, 2 if hopeless else 0
        self._watched = _WATCHED if copies else 0

    def planned(self) -> None:
        """A round was planned, and looked for a match if that was to be done."""
        self._watched -= 1

    def took(self, round_ms: float) -> None:
        """A round took so long, without what deciding took."""
        self._round_ms = following(self._round_ms, round_ms, _FOLLOWS)

    def rounds(self, decision: Decision, thinking_ms: float, opening: int | None = None) -> int:
        """How many more rounds this decision is good for, which took so long to make.

        In an answer's `opening` it is good for the rest of that at most, and says nothing of what comes behind.
        """
        self._thinking_ms = following(self._thinking_ms, thinking_ms, _FOLLOWS)
        self._made += 1
        self._drafts = decision.source != "none"
        if decision.source == "lookup":
            self._watched = _WATCHED
        round_ms = self._round_ms or decision.milliseconds
        if not (decision.lasts and round_ms):
            return 0
        if decision.source == "none":
            self._calm += opening is None
            share, most = _THINKING_SHARE * _PLAINLY, _FOLLOWED * self._longer
        else:
            self._calm = 0
            share, most = _THINKING_SHARE, min(_FOLLOWED, _GROWS * self._made)
        if opening is not None:
            most = min(most, opening)
        self._granted = min(int(self._thinking_ms / (share * round_ms)), most)
        return self._granted

    def struck(self, decision: Decision, match: int) -> bool:
        """Whether a match of so many tokens ends what was decided without one."""
        return match >= (_WATCHED_FOR if self.watches else _STRIKING)[decision.source]

    def falls_short(self, decision: Decision, left: int, emitted: int) -> bool:
        """Whether a decision to draft that is good for `left` more rounds gave clearly less than it promised."""
        rounds = self._granted - left
        return rounds >= _HELD and decision.source == "model" and emitted < _SHORT * decision.tokens * rounds

    def looks(self, left: int) -> bool:
        """Whether the round before the last `left` ones of a decision looks for a match."""
        return self.watches or left % self._apart == 0

    @property
    def _apart(self) -> int:
        """One in so many rounds looks for a match."""
        return _LOOKS * (2 if self._drafts else self._longer)

    @property
    def _longer(self) -> int:
        return 1 << min(max(self._calm - 1, 0), 2)
