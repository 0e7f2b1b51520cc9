"""Tags of sessions: words that the user gives, such as `work`, by which the list is filtered."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from specchat.errors import StoreError
from specchat.store.records import storable
from specchat.store.search_query import like
from specchat.store.sessions import Sessions

LONGEST = 40

_TAG = re.compile(r"#?([^\s#\x00-\x1f\x7f-\x9f]+)")


def tag_of(word: str) -> str:
    """The tag that a word means: in lower case, without the `#`. Raises StoreError if it cannot be one."""
    matched = _TAG.fullmatch(word)
    if matched is None or len(matched[1]) > LONGEST:
        raise StoreError(f"{word!r} cannot be a tag: use one word of at most {LONGEST} characters without #")
    return storable(matched[1].lower())


def with_signs(tags: Collection[str]) -> str:
    """The tags as they are written, such as `#draft #work`."""
    return " ".join(f"#{tag}" for tag in tags)


class SessionTags(Sessions):
    """The part of the store that keeps tags."""

    def set_tags(self, session: int, tags: Iterable[str]) -> None:
        """Replaces the tags of a session. Raises StoreError if there is no such session."""
        with self.together():
            self._run("DELETE FROM tags WHERE session = ?", (session,))
            self._add_tags(session, tags)

    def tags(self) -> dict[str, int]:
        """All tags with their numbers of sessions, the most used first."""
        return dict(
            self._rows(
                "SELECT t.name, count(*) FROM tags AS t JOIN sessions AS s ON s.id = t.session AND s.deleted IS NULL"
                " GROUP BY t.name ORDER BY count(*) DESC, t.name"
            )
        )

    def tagged(self, beginnings: Collection[str]) -> list[int]:
        """The sessions that have a tag with each of these beginnings, most recently used first."""
        has_tag = "EXISTS (SELECT 1 FROM tags AS t WHERE t.session = s.id AND t.name LIKE ? ESCAPE '\\')"
        conditions = ["s.deleted IS NULL", *(has_tag for _ in beginnings)]
        return [
            row[0]
            for row in self._rows(
                f"SELECT s.id FROM sessions AS s WHERE {' AND '.join(conditions)} ORDER BY s.updated DESC, s.id",
                [like(beginning, anywhere=False) for beginning in beginnings],
            )
        ]
