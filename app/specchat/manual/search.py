"""A search over sections, ranked by bm25 in SQLite's full-text index, which is built in memory."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Sequence
from contextlib import closing
from typing import NamedTuple

from specchat.manual.sections import Section
from specchat.terminal.pieces import MARKS

_WEIGHTS = (10.0, 4.0, 1.0)
"""A match in the heading counts as ten in the text, one in the page's title as four."""

_EXCERPT = 12
"""The length of an excerpt in words."""

_WORD = re.compile(r"\w+(?:[.-]\w+)*")
_COMMON = re.compile(
    r"an?|about|am|and|any|are|as|at|be|been|but|by|can|could|did|do|does|doing|for|from|get|had|has|have|he|her|his|how|i|"
    r"if|in|into|is|its?|just|know|let|make|me|means?|might|my|no|not|of|on|or|our|please|says?|she|should|so|some|tell|"
    r"than|that|the|their|them|then|there|these|they|this|those|to|too|up|us|use|want|was|we|were|what|when|where|which|"
    r"who|why|will|with|would|your?",
    re.IGNORECASE,
)
"""Words of questions that say nothing about their subject."""


class Hit(NamedTuple):
    """A section that was found, and a part of its text with marks around the words that match."""

    section: Section
    excerpt: str


def key_words(question: str) -> str:
    """The words of a question that say what it is about, in their order; empty if there are none."""
    words = (word for word in _WORD.findall(question) if not _COMMON.fullmatch(word))
    return " ".join(dict.fromkeys(words))


class ManualSearch:
    """Finds sections by their words. It is used in one thread."""

    def __init__(self, sections: Sequence[Section], aside: Collection[str] = ()) -> None:
        """Matches on the pages `aside` count half."""
        self._sections = tuple(sections)
        self._index = sqlite3.connect(":memory:")
        self._index.execute(
            "CREATE VIRTUAL TABLE sections USING fts5("
            "heading, title, text, weight UNINDEXED, tokenize = 'porter unicode61')"
        )
        self._index.executemany(
            "INSERT INTO sections(rowid, heading, title, text, weight) VALUES (?, ?, ?, ?, ?)",
            [
                (at, section.heading, section.title, section.text, 0.5 if section.place.page in aside else 1.0)
                for at, section in enumerate(self._sections)
            ],
        )

    def find(self, words: str, limit: int = 20) -> list[Hit]:
        """The sections with any of these words, the best first. The last word may be a beginning.

        Sections with all words come before the others. Common words count only if there are no others.
        """
        terms = _WORD.findall(key_words(words) or words)
        if not terms:
            return []
        quoted = [f'"{term}"' for term in terms]
        last = quoted.pop() + "*"
        hits: dict[int, Hit] = {}
        for joined in (" AND ", " OR "):
            for hit, row in self._matches(joined.join([*quoted, last]), limit):
                hits.setdefault(row, hit)
        return [*hits.values()][:limit]

    def _matches(self, query: str, limit: int) -> list[tuple[Hit, int]]:
        with closing(
            self._index.execute(
                "SELECT rowid, snippet(sections, 2, ?, ?, '…', ?) FROM sections WHERE sections MATCH ? "
                "ORDER BY bm25(sections, ?, ?, ?) * weight LIMIT ?",
                (*MARKS, _EXCERPT, query, *_WEIGHTS, limit),
            )
        ) as rows:
            return [(Hit(self._sections[row], excerpt), row) for row, excerpt in rows]
