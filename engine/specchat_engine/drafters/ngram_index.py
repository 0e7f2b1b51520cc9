"""Finds where the last tokens of a growing text occurred before, the longest match first, without searching the text.

Hash chains as in DEFLATE (Deutsch, RFC 1951): places whose last n tokens have the same hash are linked, latest first.
Candidates are compared backwards, and only if they can beat the best so far. A text of n tokens takes 8 n bytes and
one megabyte.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

_BITS = 17
_MASK = (1 << _BITS) - 1
_LOOKED_AT = 256
"""Only this many of the latest candidates are compared: a common pair of tokens has thousands in a long text."""

_LONG = 8
"""Matches of at least this length have their own chain, so that common short ones do not hide an old long one."""


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence of the last `length` tokens; `index` is that of the token after it.

    `resumed` says that a copy continues there after an edit, so that even a short match is good evidence.
    """

    index: int
    length: int
    resumed: bool = False


class NgramIndex:
    """A text, and for its last tokens the longest earlier match of `shortest` to `longest` tokens."""

    def __init__(self, shortest: int, longest: int) -> None:
        self.tokens: list[int] = []
        """Token ids, and a unique negative number after each part of the text."""
        self._longest = longest
        self._parts = 0
        sizes = {shortest, max(shortest, min(longest, _LONG))}
        self._chains = [_Chain(size) for size in sorted(sizes, reverse=True)]

    def learn(self, tokens: Sequence[int]) -> None:
        """Appends tokens to the text."""
        for token in tokens:
            self.tokens.append(token)
            for chain in self._chains:
                chain.link(self.tokens)

    def part(self) -> None:
        """Ends a part of the text: nothing follows its last tokens, and no match reaches back across its end."""
        for chain in self._chains:
            chain.unlink(self.tokens)
        self._parts += 1
        self.learn([-self._parts])

    def find(self) -> Match | None:
        """The longest match, the latest of equal ones; lengths above `longest` count as `longest`."""
        for chain in self._chains:
            match = chain.search(self.tokens, self._longest)
            if match:
                return match
        return None


class _Chain:
    """The places of a text, linked by the hash of the `size` tokens before them; place 0 stands for none."""

    __slots__ = ("_earlier", "_latest", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._latest = array("i", bytes(4 * (_MASK + 1)))
        self._earlier = array("i", [0])

    def link(self, tokens: list[int]) -> None:
        """Adds the place after the last token."""
        end = len(tokens)
        if end < self._size:
            self._earlier.append(0)
            return
        bucket = self._bucket(tokens)
        self._earlier.append(self._latest[bucket])
        self._latest[bucket] = end

    def unlink(self, tokens: list[int]) -> None:
        """Removes the last place from its chain."""
        if len(tokens) >= self._size:
            self._latest[self._bucket(tokens)] = self._earlier[-1]

    def search(self, tokens: list[int], longest: int) -> Match | None:
        """The longest match of at least `size` tokens among the latest candidates."""
        end = len(tokens)
        best, where = self._size - 1, 0
        index = self._earlier[end]
        for _ in range(_LOOKED_AT):
            if index <= best or best >= longest:
                break
            if tokens[index - 1 - best] == tokens[end - 1 - best]:
                length = _common_suffix(tokens, index, end, longest)
                if length > best:
                    best, where = length, index
            index = self._earlier[index]
        return Match(where, best) if where else None

    def _bucket(self, tokens: list[int]) -> int:
        return hash(tuple(tokens[-self._size :])) & _MASK


def _common_suffix(tokens: list[int], left: int, right: int, longest: int) -> int:
    """How many tokens before two indexes are the same, `longest` at most; `left` is the smaller one."""
    most = min(left, longest)
    length = 0
    while length < most and tokens[left - 1 - length] == tokens[right - 1 - length]:
        length += 1
    return length
