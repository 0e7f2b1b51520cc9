"""Full-text search over titles and messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from specchat.store.records import StoredSession
from specchat.store.search_query import Query, like, parse
from specchat.store.tags import SessionTags

Marks = tuple[str, str]

_AROUND = 40
"""Characters shown before a match in texts that were searched without the index."""

_WORDS_SHOWN = 16


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A session that matches: by `message`, or by its title if that is None.

    `snippet` is the title or the text around the match, with the match between the caller's marks. Filter it before it
    goes to a terminal.
    """

    session: StoredSession
    message: int | None
    snippet: str


class SessionSearch(SessionTags):
    """The part of the store that searches."""

    def search(self, text: str, limit: int = 50, marks: Marks = ("[", "]")) -> list[SearchHit]:
        """Sessions that contain every typed word in the title or in one message; each session once.

        Matches in titles come first, the most recently used session on top, then matches in messages, newest first. A
        word matches every word that begins with it, ignoring case and accents. Words in double quotes must be
        adjacent. `#work` limits the search to sessions with a tag that begins so; alone it finds all of these. Any text
        may be typed; an empty one finds nothing.
        """
        query = parse(text)
        tagged = self.tagged(query.tags) if query.tags else None
        if not query.parts:
            sessions = (self.session(session) for session in (tagged or [])[:limit])
            return [SearchHit(session, None, session.title) for session in sessions if session is not None]
        allowed = None if tagged is None else frozenset(tagged)
        hits: dict[int, SearchHit] = {}
        titles = (hit for hit in self._in_titles(query, marks) if allowed is None or hit[0] in allowed)
        for session, snippet in islice(titles, limit):
            if (found_session := self.session(session)) is not None:
                hits[session] = SearchHit(found_session, None, snippet)
        for session, message, row in self._in_messages(query):
            if len(hits) >= limit:
                break
            if session in hits or not (allowed is None or session in allowed):
                continue
            if (found_session := self.session(session)) is not None:
                hits[session] = SearchHit(found_session, message, self._snippet(query, row, marks))
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
        """Session, message and row of each match, newest first, read one by one."""
        if query.match:
            rows = self._rows(
                "SELECT m.session, m.id, m.row FROM message_words JOIN messages AS m ON m.row = message_words.rowid"
                " JOIN sessions AS s ON s.id = m.session AND s.deleted IS NULL"
                " WHERE message_words MATCH ? ORDER BY message_words.rowid DESC",
                (query.match,),
            )
        else:
            condition, values = _holds("m.content", query)
            rows = self._rows(
                "SELECT m.session, m.id, m.row FROM messages AS m"
                " JOIN sessions AS s ON s.id = m.session AND s.deleted IS NULL"
                f" WHERE {condition} ORDER BY m.row DESC",
                values,
            )
        return ((session, message, row) for session, message, row in rows)

    def _snippet(self, query: Query, row: int, marks: Marks) -> str:
        if query.match:
            row_found = self._first(
                "SELECT snippet(message_words, 0, ?, ?, '…', ?) FROM message_words"
                " WHERE message_words MATCH ? AND rowid = ?",
                (*marks, _WORDS_SHOWN, query.match, row),
            )
        else:
            row_found = self._first("SELECT content FROM messages WHERE row = ?", (row,))
            row_found = (_marked(row_found[0], query, marks),) if row_found else None
        return str(row_found[0]) if row_found else ""


def _holds(column: str, query: Query) -> tuple[str, list[str]]:
    """An SQL condition that is true if the column contains all parts, and its values."""
    holds = f"{column} LIKE ? ESCAPE '\\'"
    return " AND ".join([holds] * len(query.parts)), [like(part) for part in query.parts]


def _marked(text: str, query: Query, marks: Marks) -> str:
    """The text around the first part, with that part between the marks."""
    lower = text.lower() if len(text.lower()) == len(text) else text
    part = query.parts[0]
    at = max(lower.find(part.lower()), 0)
    end = at + len(part)
    begin = max(at - _AROUND, 0)
    stop = end + 2 * _AROUND
    before, after = "…" if begin else "", "…" if stop < len(text) else ""
    return f"{before}{text[begin:at]}{marks[0]}{text[at:end]}{marks[1]}{text[end:stop]}{after}"
