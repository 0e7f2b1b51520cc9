"""Full-text search over titles and messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from specchat.store.query import Query, like, parse
from specchat.store.records import StoredSession
from specchat.store.sessions import Sessions

Marks = tuple[str, str]

_AROUND = 40
"""Characters shown before a match that the index did not find."""

_WORDS_SHOWN = 16


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session in which something was found: in `message`, or, where that is None, in its title.

    `snippet` is the title or the part of the message around the match, with the match between the caller's marks. It is
    stored text: filter it before it goes to a terminal.
    """

    session: StoredSession
    message: int | None
    snippet: str


class Search(Sessions):
    """The part of the store that finds things again."""

    def search(self, text: str, limit: int = 50, marks: Marks = ("[", "]")) -> list[SearchHit]:
        """Sessions that hold every word typed, in the title or in one message; each session once.

        Those with the words in the title come first, the most recently used on top, then those with the most recent
        message that has them. A word finds all that begin with it, without regard to case and accents; words between
        double quotes have to stand side by side. Any text may be typed; an empty one finds nothing.
        """
        query = parse(text)
        if not query.parts:
            return []
        hits: dict[int, SearchHit] = {}
        for session, snippet in islice(self._in_titles(query, marks), limit):
            if (found := self.session(session)) is not None:
                hits[session] = SearchHit(found, None, snippet)
        for session, message, row in self._in_messages(query):
            if len(hits) >= limit:
                break
            if session not in hits and (found := self.session(session)) is not None:
                hits[session] = SearchHit(found, message, self._snippet(query, row, marks))
        return list(hits.values())

    def _in_titles(self, query: Query, marks: Marks) -> Iterator[tuple[int, str]]:
        if query.match:
            return (
                (row[0], row[1])
                for row in self._rows(
                    "SELECT s.id, highlight(title_words, 0, ?, ?) FROM title_words"
                    " JOIN sessions AS s ON s.id = title_words.rowid AND s.deleted IS NULL"
                    " WHERE title_words MATCH ? ORDER BY s.updated DESC",
                    (*marks, query.match),
                )
            )
        condition, values = _holds("title", query)
        return (
            (row[0], _marked(row[1], query, marks))
            for row in self._rows(
                f"SELECT id, title FROM sessions WHERE deleted IS NULL AND {condition} ORDER BY updated DESC", values
            )
        )

    def _in_messages(self, query: Query) -> Iterator[tuple[int, int, int]]:
        """Session, message and row of what matches, the most recent first, found as it is asked for."""
        if query.match:
            found = self._rows(
                "SELECT m.session, m.id, m.row FROM message_words JOIN messages AS m ON m.row = message_words.rowid"
                " JOIN sessions AS s ON s.id = m.session AND s.deleted IS NULL"
                " WHERE message_words MATCH ? ORDER BY message_words.rowid DESC",
                (query.match,),
            )
        else:
            condition, values = _holds("m.content", query)
            found = self._rows(
                "SELECT m.session, m.id, m.row FROM messages AS m"
                " JOIN sessions AS s ON s.id = m.session AND s.deleted IS NULL"
                f" WHERE {condition} ORDER BY m.row DESC",
                values,
            )
        return ((session, message, row) for session, message, row in found)

    def _snippet(self, query: Query, row: int, marks: Marks) -> str:
        if query.match:
            found = self._first(
                "SELECT snippet(message_words, 0, ?, ?, '…', ?) FROM message_words"
                " WHERE message_words MATCH ? AND rowid = ?",
                (*marks, _WORDS_SHOWN, query.match, row),
            )
        else:
            found = self._first("SELECT content FROM messages WHERE row = ?", (row,))
            found = (_marked(found[0], query, marks),) if found else None
        return str(found[0]) if found else ""


def _holds(column: str, query: Query) -> tuple[str, list[str]]:
    """A condition that holds where the column has all parts, and its values."""
    one = f"{column} LIKE ? ESCAPE '\\'"
    return " AND ".join([one] * len(query.parts)), [like(part) for part in query.parts]


def _marked(text: str, query: Query, marks: Marks) -> str:
    """The surroundings of the first part found, with that part between the marks."""
    lower = text.lower() if len(text.lower()) == len(text) else text
    part = query.parts[0]
    at = max(lower.find(part.lower()), 0)
    end = at + len(part)
    begin = max(at - _AROUND, 0)
    stop = end + 2 * _AROUND
    before, after = "…" if begin else "", "…" if stop < len(text) else ""
    return f"{before}{text[begin:at]}{marks[0]}{text[at:end]}{marks[1]}{text[end:stop]}{after}"
