"""Earlier messages: one after the other with the arrow keys, or by searching. Without widgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specchat.chat.history import Entry


class Recall:
    """A walk through the entries. It begins at the draft that the user was writing."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._place: int | None = None
        self._draft = Entry("")

    def older(self, draft: Entry) -> Entry | None:
        """The entry before this one; None if there is none."""
        if self._place is None:
            self._draft = draft
        place = len(self._entries) if self._place is None else self._place
        if place == 0:
            return None
        self._place = place - 1
        return self._entries[self._place]

    def newer(self) -> Entry | None:
        """The entry after this one, and the draft after the last entry; None if the draft is shown already."""
        if self._place is None:
            return None
        self._place += 1
        if self._place < len(self._entries):
            return self._entries[self._place]
        self._place = None
        return self._draft

    def end(self) -> None:
        """Ends the walk: the next one begins at the newest entry."""
        self._place = None


class Search(NamedTuple):
    """A search in progress: the query, the matching entries with the newest first, and which of them is shown.

    The case of letters counts only if the query has a capital letter.
    """

    entries: Sequence[Entry]
    draft: Entry
    query: str = ""
    found: tuple[Entry, ...] = ()
    place: int = 0

    @property
    def shown(self) -> Entry:
        """The entry that is shown; the draft if nothing matches."""
        return self.found[self.place] if self.found else self.draft

    def looking_for(self, query: str) -> Search:
        """The search with another query, at its newest match. An empty query matches nothing."""
        exact = query != query.lower()
        found: dict[Entry, None] = {}
        for entry in reversed(self.entries):
            if query and query in (entry.text if exact else entry.text.lower()):
                found.setdefault(entry)
        return Search(self.entries, self.draft, query, tuple(found))

    def moved(self, steps: int) -> Search:
        """Moved by `steps` to older matches, or to newer ones if negative."""
        place = min(max(self.place + steps, 0), max(len(self.found) - 1, 0))
        return Search(self.entries, self.draft, self.query, self.found, place)
