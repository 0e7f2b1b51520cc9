"""What is accepted here: shares that follow the text, and fall back on what the pair did before."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CAPPED = 64
POSITIONS = 32
"""Positions of a draft that are told apart; those behind count as the last of them."""
ALL = (1.0,) * POSITIONS
"""The shares of what never fails at any of them."""

_CONFIDENCES = (0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99, 0.997)
_ACCEPTED_BY_CONFIDENCE = (0.25, 0.42, 0.58, 0.72, 0.85, 0.92, 0.96, 0.98, 0.99, 0.995)
_MATCHES = (3, 4, 5, 7, 9, 13, 17, 25)
_CLASSES = tuple(bisect_right(_MATCHES, length) for length in range(2 * _CAPPED))
_ACCEPTED_BY_MATCH = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93)
_ACCEPTED_BY_RESUMED = (0.7, 0.8, 0.83, 0.86, 0.88, 0.9, 0.91, 0.92, 0.93)
_ACCEPTED_BY_OPENING = (0.05, 0.05, 0.1, 0.1, 0.2, 0.3, 0.6, 0.85, 0.9)
_ACCEPTED = 0.7
"""Before anything was seen of a pair: what a token is accepted with."""

_PAIR = 4.0
"""How many trials the expectation counts for that all positions share."""

_LATER = frozenset({"by_resumed", "onward"})
"""What records that were kept before it do not hold."""


class Shares:
    """The shares of hits in the trials of several classes; old trials fade, and few fall back on a prior.

    `fade` is what a trial keeps of its weight when another one of its class comes, `strength` how many trials the
    prior is worth.
    """

    __slots__ = ("_fade", "_hits", "_prior", "_strength", "_taken", "_trials")

    def __init__(self, prior: Sequence[float], *, fade: float, strength: float) -> None:
        self._prior = list(prior)
        self._hits = [0.0] * len(prior)
        self._trials = [0.0] * len(prior)
        self._fade = fade
        self._strength = strength
        self._taken = False

    def observe(self, places: Iterable[int], hits: int) -> None:
        """Counts one trial of each of these classes in turn, of which the first `hits` were hits."""
        fade, counted, tried = self._fade, self._hits, self._trials
        for trial, place in enumerate(places):
            counted[place] = counted[place] * fade + (trial < hits)
            tried[place] = tried[place] * fade + 1

    def observe_same(self, count: int, hits: int) -> None:
        """`observe` for class 0, so many times."""
        fade = self._fade
        kept = fade**count
        self._hits[0] = self._hits[0] * kept + (fade ** max(count - hits, 0) - kept) / (1 - fade)
        self._trials[0] = self._trials[0] * kept + (1 - kept) / (1 - fade)

    def at(self, place: int) -> float:
        """The expected share of a class; places behind the last class count as the last."""
        place = min(place, len(self._prior) - 1)
        return (self._hits[place] + self._strength * self._prior[place]) / (self._trials[place] + self._strength)

    def tried(self, count: float) -> bool:
        """Whether there were so many trials, or a record that the prior was taken from."""
        return self._taken or sum(self._trials) >= count

    def all(self, count: int | None = None, *, pooled: bool = False) -> list[float]:
        """The expected shares of all classes, or the first so many; `pooled`: without a record all share a prior."""
        priors, strength = self._prior, self._strength
        if pooled and not self._taken:
            priors = [(sum(self._hits) + _PAIR * priors[0]) / (sum(self._trials) + _PAIR)] * len(priors)
        return [
            (hits + strength * prior) / (tried + strength)
            for hits, prior, tried in zip(self._hits[:count], priors, self._trials, strict=False)
        ]

    def carried(self, first: float, count: int) -> list[float]:
        """The expected shares of the first `count` classes; without a record each falls back on the one before it, and
        that of class 0 on `first`."""
        shares, share, strength = [], first, self._strength
        for hits, tried, prior in zip(self._hits[:count], self._trials, self._prior, strict=False):
            share = (hits + strength * (prior if self._taken else share)) / (tried + strength)
            shares.append(share)
        return shares

    def take(self, kept: Any) -> None:
        """Takes the shares that were kept as the prior. Raises ValueError for anything else."""
        if not (isinstance(kept, list) and len(kept) == len(self._prior) and all(map(_is_share, kept))):
            raise ValueError("these are no shares of the same classes")
        self._prior = [float(value) for value in kept]
        self._taken = True


class Habits:
    """What a pair does on one kind of text.

    `chain[i]`: drafted token i stands, given that the i before it do; a draft that stopped early counts as one that
    does not, so that the products of these shares are the accepted tokens to expect. `longer[i]`: the drafter goes
    on to token i, given that it drafted the i before it. `onward[i]`: token i stands, given that those before it do
    and it was drafted at all: what a drafter that has come so far may hope for. `tested`: any token that was
    compared. `by_confidence` and `by_match`: the same by the drafter's confidence and by the length of the match in
    front of the token; `by_opening` by the length of a match that an answer begins with. All answers begin behind
    the same tokens of the template, which say nothing, and only longer matches tell that the same was asked before.
    `by_resumed`: by how many tokens a copy has gone on behind an edit.
    """

    __slots__ = ("by_confidence", "by_match", "by_opening", "by_resumed", "chain", "longer", "onward", "tested")

    def __init__(self) -> None:
        self.chain = Shares([_ACCEPTED] * POSITIONS, fade=0.99, strength=3)
        self.longer = Shares([1.0] * POSITIONS, fade=0.99, strength=3)
        self.onward = Shares([_ACCEPTED] * POSITIONS, fade=0.99, strength=4)
        self.tested = Shares([_ACCEPTED], fade=0.95, strength=4)
        self.by_confidence = Shares(_ACCEPTED_BY_CONFIDENCE, fade=0.98, strength=4)
        self.by_match = Shares(_ACCEPTED_BY_MATCH, fade=0.98, strength=3)
        self.by_resumed = Shares(_ACCEPTED_BY_RESUMED, fade=0.95, strength=3)
        self.by_opening = Shares(_ACCEPTED_BY_OPENING, fade=0.95, strength=3)

    def learn(self, goes: int, drafted: int, accepted: int, compared: int, confidence: Iterable[float]) -> None:
        """Counts a draft of which so many tokens were compared and accepted; `confidence` tells of those compared.

        `goes`: of so many tokens it is known whether it went on to them; all of the `drafted` ones, and one more where
        it ended by itself.
        """
        self.longer.observe(range(goes), drafted)
        self.chain.observe(range(min(goes, accepted + 1)), accepted)
        self.onward.observe(range(compared), accepted)
        self.tested.observe_same(compared, accepted)
        self.by_confidence.observe(map(confidence_class, confidence), accepted)

    def of_matches(self, opening: bool, resumed: bool) -> Shares:
        """By the length of a match: one at the beginning of an answer, one behind an edit, or any other."""
        return self.by_resumed if resumed else self.by_opening if opening else self.by_match

    def stands_onward(self, count: int) -> list[float]:
        """`onward` for the first `count` tokens: where none was drafted so far, what was seen nearest before it."""
        return self.onward.carried(self.tested.at(0), count)

    def to_json(self) -> dict[str, list[float]]:
        """What to keep for the next time."""
        expected = {name: getattr(self, name).all(pooled=name == "chain") for name in self.__slots__}
        expected["onward"] = self.stands_onward(POSITIONS)
        return {name: [round(share, 4) for share in shares] for name, shares in expected.items()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Habits:
        """Reads what `to_json` wrote. Raises KeyError, TypeError or ValueError for anything else."""
        habits = cls()
        for name in cls.__slots__:
            if name in kept or name not in _LATER:
                getattr(habits, name).take(kept[name])
        return habits


def matches_from(length: int, count: int) -> Sequence[int]:
    """The classes of matches of `length` to `length + count - 1` tokens."""
    return _CLASSES[min(length, _CAPPED) : min(length, _CAPPED) + count]


def confidence_class(confidence: float) -> int:
    """The class of `Habits.by_confidence` for a confidence in [0, 1]."""
    return bisect_right(_CONFIDENCES, confidence)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
