"""Finds where the last tokens of a text occurred in a large one, the longest match first, and what followed how often.

A suffix array over the reversed text: all places whose preceding tokens agree lie side by side, so that two binary
searches give the longest match and all of its places. Suffixes are compared over DEPTH tokens and sorted by doubling
(Manber and Myers, 1993). What followed is counted as in SuffixDecoding (Oliaro et al., arXiv 2411.04975).

The file is mapped, not read: it opens at once, and a search touches a few pages of it.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import TextStoreError

DEPTH: Final = 32
"""Matches of more tokens count as this long."""

_MAGIC: Final = b"specchat suffixes 1\n"
_HEAD: Final = 64
_WIDTH: Final = 4
_LOOKED_AT: Final = 64
"""Of a match with more places this many are counted, evenly spread."""

_SURE: Final = 0.25
"""A continuation ends where fewer of the counted places still agree with it."""

MOST_TOKENS: Final = 2**31


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Where the last `length` tokens occurred: the entries `first` to `end` of the suffix array."""

    length: int
    first: int
    end: int

    @property
    def count(self) -> int:
        """How often."""
        return self.end - self.first


@dataclass(frozen=True, slots=True)
class Other:
    """Something else that followed: the last token of `path`, at `share` of the places where those before it did.

    It was not the most frequent one there if it is a `runner_up`.
    """

    path: tuple[int, ...]
    share: float
    runner_up: bool


@dataclass(frozen=True, slots=True)
class Continuation:
    """What followed most often, token by token, and what else did, the most frequent first."""

    tokens: tuple[int, ...] = ()
    others: tuple[Other, ...] = ()


_Followed = list[tuple[int, list[int]]]
"""Tokens that followed, -1 for the end of a document, and the places that each one followed."""


class Suffixes:
    """An index in a file; `close` unmaps it. Raises TextStoreError if the file is none, or cut off."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
                stat = os.fstat(file.fileno())
                size, self._file = stat.st_size, (stat.st_dev, stat.st_ino)
                self.num_tokens = int.from_bytes(head[len(_MAGIC) : len(_MAGIC) + 8], "little")
                if head[: len(_MAGIC)] != _MAGIC or size != _HEAD + 2 * _WIDTH * self.num_tokens:
                    raise TextStoreError(f"{path} is not an index of a store, or was cut off: make it again")
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise TextStoreError(f"{path} cannot be read: {error.strerror or error}") from None
        self._view = memoryview(self._map)
        self._text = self._view[_HEAD : _HEAD + _WIDTH * self.num_tokens]
        self._order = self._view[_HEAD + _WIDTH * self.num_tokens :].cast("I")

    def is_of(self, path: Path) -> bool:
        """Whether this path still names the file that was opened."""
        try:
            stat = path.stat()
        except OSError:
            return False
        return (stat.st_dev, stat.st_ino) == self._file

    def find(self, tail: Sequence[int], shortest: int) -> Occurrences | None:
        """The longest match of the end of `tail`, of at least `shortest` tokens."""
        wanted = _bytes_of(tail[: -DEPTH - 1 : -1])
        rank = bisect_left(self._order, wanted, key=self._suffix)
        near = range(max(rank - 1, 0), min(rank + 1, self.num_tokens))
        length = max((_common(wanted, self._suffix(self._order[neighbour])) for neighbour in near), default=0)
        if length < shortest:
            return None
        prefix = wanted[: _WIDTH * length]
        first = bisect_left(self._order, prefix, 0, rank + 1 if rank < self.num_tokens else rank, key=self._suffix)
        end = bisect_left(self._order, prefix + b"\xff" * _WIDTH, first, key=self._suffix)
        return Occurrences(length, first, end)

    def continuation(self, places: Occurrences, k: int, others: int = 0) -> Continuation:
        """Up to k tokens that followed most often, as long as enough of the places agree, and up to `others` others
        that followed within k tokens."""
        step = max(1, places.count // _LOOKED_AT)
        counted = alive = [self._order[index] for index in range(places.first, places.end, step)]
        tokens: tuple[int, ...] = ()
        waiting: list[tuple[int, int, Other, list[int]]] = []
        number, alternatives = count(), list[Other]()

        def wait(followed: _Followed, path: tuple[int, ...], alive: Sequence[int], first: int = 0) -> None:
            for rank, (token, at) in enumerate(followed[first:], first):
                if token >= 0:
                    other = Other((*path, token), len(at) / len(alive), runner_up=rank > 0)
                    heappush(waiting, (-len(at), next(number), other, at))

        while len(tokens) < k:
            followed = self._followed(alive, len(tokens))
            best, agreeing = followed[0] if followed else (-1, [])
            if best < 0 or len(agreeing) < _SURE * len(counted):
                break
            wait(followed, tokens, alive, first=1)
            tokens, alive = (*tokens, best), agreeing
        while waiting and len(alternatives) < others:
            _, _, other, alive = heappop(waiting)
            alternatives.append(other)
            if len(other.path) < k:
                wait(self._followed(alive, len(other.path)), other.path, alive)
        return Continuation(tokens, tuple(alternatives))

    def close(self) -> None:
        """Unmaps the file; calling it again does nothing."""
        if not self._map.closed:
            self._order.release()
            self._text.release()
            self._view.release()
            self._map.close()

    def _followed(self, positions: Iterable[int], after: int) -> _Followed:
        """The tokens that followed these positions after `after` others, the most frequent first."""
        by_token: dict[int, list[int]] = {}
        for position in positions:
            if position > after:
                by_token.setdefault(self._token(position - after - 1), []).append(position)
        return sorted(by_token.items(), key=lambda item: -len(item[1]))

    def _suffix(self, position: int) -> bytes:
        """The tokens before a position, the nearest first, as bytes that sort as the tokens do."""
        return bytes(self._text[_WIDTH * position : _WIDTH * (position + DEPTH)])

    def _token(self, position: int) -> int:
        """The token at a position of the reversed text; -1 between two documents."""
        return int.from_bytes(self._text[_WIDTH * position : _WIDTH * (position + 1)], "big") - 1


def write_suffixes(path: Path, documents: Iterable[Sequence[int]]) -> int:
    """Writes the index of some documents; returns the number of tokens, with one between documents.

    Raises TextStoreError for too many tokens, and if the file cannot be written. The caller gives it its final name.
    """
    parts = [part for document in documents for part in (np.asarray(document, ">u4") + 1, np.zeros(1, ">u4"))]
    text = np.concatenate(parts)[::-1].astype(">u4") if parts else np.empty(0, ">u4")
    if len(text) >= MOST_TOKENS:
        raise TextStoreError(f"a store of {len(text):,} tokens is too large: add fewer files at a time")
    order = sorted_suffixes(text.astype(np.uint32))
    try:
        with path.open("wb") as file:
            file.write((_MAGIC + len(text).to_bytes(8, "little")).ljust(_HEAD, b"\0"))
            file.write(text.tobytes())
            file.write(order.astype("=u4").tobytes())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise TextStoreError(f"{path} cannot be written: {error.strerror or error}") from None
    return len(text)


def sorted_suffixes(text: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The places of a text [n] in the order of what begins there, compared over DEPTH tokens."""
    rank = text.astype(np.int64)
    order = np.argsort(rank, kind="stable")
    length = 1
    while length < min(DEPTH, len(text)):
        keys = rank << 32
        keys[: len(text) - length] |= rank[length:] + 1
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        rank = np.empty_like(rank)
        rank[order] = np.concatenate(([0], np.cumsum(ordered[1:] != ordered[:-1])))
        length *= 2
    return order


def _bytes_of(tokens: Sequence[int]) -> bytes:
    return b"".join((token + 1).to_bytes(_WIDTH, "big") for token in tokens)


def _common(suffix: bytes, other: bytes) -> int:
    """How many tokens two of them begin with together."""
    most = min(len(suffix), len(other))
    if suffix[:most] == other[:most]:
        return most // _WIDTH
    return next(index for index in range(most) if suffix[index] != other[index]) // _WIDTH
