"""Where each entry of a conversation is. Heights are known near the viewport and estimated elsewhere."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from specchat.tui.transcript.entries import TranscriptEntry

GAP = 1
"""Blank rows above each entry."""

KEPT = 200
"""The number of entries that keep their rows. The heights of all others stay known."""


class Stack:
    """Entries from top to bottom at one width."""

    def __init__(self) -> None:
        self.entries: list[TranscriptEntry] = []
        self.width = 0
        self._heights: list[int] = []
        self._known: list[bool] = []
        self._tops: list[int] = [0]
        self._laid: dict[TranscriptEntry, None] = {}

    @property
    def height(self) -> int:
        """The rows of all entries."""
        return self.top(len(self.entries))

    def add(self, entries: Iterable[TranscriptEntry]) -> None:
        """Add entries at the end with estimated heights."""
        for entry in entries:
            self.entries.append(entry)
            self._heights.append(GAP + entry.guess(self.width))
            self._known.append(False)

    def clear(self) -> None:
        """Remove all entries."""
        for column in (self.entries, self._heights, self._known):
            column.clear()
        del self._tops[1:]
        self._laid.clear()

    def remove(self, index: int) -> None:
        """Remove an entry."""
        self._laid.pop(self.entries[index], None)
        for column in (self.entries, self._heights, self._known):
            del column[index]
        del self._tops[index + 1 :]

    def resize(self, width: int) -> None:
        """Estimate all heights again for another width."""
        self.width = width
        for entry in self.entries:
            entry.forget()
        self._heights = [GAP + entry.guess(width) for entry in self.entries]
        self._known = [False] * len(self.entries)
        self._laid.clear()
        del self._tops[1:]

    def top(self, index: int) -> int:
        """The first row of an entry, which is the blank row above it."""
        while len(self._tops) <= index:
            self._tops.append(self._tops[-1] + self._heights[len(self._tops) - 1])
        return self._tops[index]

    def at(self, row: int) -> int:
        """The entry at a row; the last one for rows below it."""
        self.top(len(self.entries))
        return max(0, min(bisect_right(self._tops, row), len(self.entries)) - 1)

    def measure(self, index: int) -> int:
        """Lay an entry out. Returns how many rows it is higher than assumed."""
        entry = self.entries[index]
        height = GAP + len(entry.rows(self.width))
        self._keep(entry)
        difference = height - self._heights[index]
        self._known[index] = True
        if difference:
            self._heights[index] = height
            del self._tops[index + 1 :]
        return difference

    def unknown(self, first: int, last: int) -> list[int]:
        """The entries from `first` to `last` whose heights are estimates."""
        return [index for index in range(first, min(last + 1, len(self.entries))) if not self._known[index]]

    def knows(self, index: int) -> bool:
        """Whether the height of an entry is known."""
        return self._known[index]

    def _keep(self, entry: TranscriptEntry) -> None:
        self._laid.pop(entry, None)
        self._laid[entry] = None
        if len(self._laid) > KEPT:
            oldest = next(iter(self._laid))
            del self._laid[oldest]
            oldest.forget()
