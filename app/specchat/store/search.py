"""Full-text search over titles and messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from specchat.store.records import StoredSession
from specchat.store.sessions import Sessions

_WORDS = re.compile(r'"([^"]*)"?|([^\s"]+)')
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese do not separate words, so the index sees sentences as words."""


@dataclass(frozen=True, slots=True)
class Query:
    """The parts that a text must contain. Text in double quotes is one part.

    `match` is the query for the full-text index, which matches the beginnings of words and ignores accents. It is empty
    if the index cannot find one of the parts. Then the texts themselves are searched for `parts`.
    """

    parts: tuple[str, ...]
    match: str


def parse(text: str) -> Query:
    """Reads what the user typed, whatever it contains; without parts if it is empty."""
    typed = (quoted or word for quoted, word in _WORDS.findall(text))
    parts = tuple(part for word in typed if (part := _encodable(word)))
    indexed = all(_is_indexed(part) for part in parts)
    return Query(parts, " AND ".join(f'"{part}"*' for part in parts) if indexed else "")


def like(part: str) -> str:
    """A LIKE pattern that matches this part anywhere in a text."""
    return "%" + re.sub(r"([\\%_])", r"\\\1", part) + "%"


def _encodable(word: str) -> str:
    return re.sub("[\0\ud800-\udfff]", " ", word).strip()


def _is_indexed(part: str) -> bool:
    """True if the index can find the part: not signs and emoji alone, nor words within an unspaced sentence."""
    return any(character.isalnum() for character in part) and not _UNSPACED.search(part)


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


class Search(Sessions):
    """The part of the store that searches."""

    def search(self, text: str, limit: int = 50, marks: Marks = ("[", "]")) -> list[SearchHit]:
        """Sessions that contain every typed word in the title or in one message; each session once.

        Matches in titles come first, the most recently used session on top, then matches in messages, newest first. A
        word matches every word that begins with it, ignoring case and accents. Words in double quotes must be
        adjacent. Any text may be typed; an empty one finds nothing.
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
        """Session, message and row of each match, newest first, read one by one."""
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
    """An SQL condition that is true if the column contains all parts, and its values."""
    one = f"{column} LIKE ? ESCAPE '\\'"
    return " AND ".join([one] * len(query.parts)), [like(part) for part in query.parts]


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
