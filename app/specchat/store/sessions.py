"""Creating, changing, listing, deleting and restoring sessions."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from specchat.store.connection import Database
from specchat.store.records import StoredSession, storable

_COLUMNS = "id, title, created, updated, system, seed, target, draft, settings, head, num_messages, preview"


class Sessions(Database):
    """The part of the store that keeps sessions."""

    def create(self, session: StoredSession) -> None:
        """Stores a new session without messages. The store sets its head, number of messages and preview.

        `updated` defaults to the time of creation. Raises StoreError if the id is taken.
        """
        with self.together():
            self._run(
                "INSERT INTO sessions (id, title, created, updated, system, seed, target, draft, settings)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    session.id,
                    storable(session.title),
                    session.created,
                    session.updated or session.created,
                    storable(session.system),
                    _seed_text(session.seed),
                    storable(session.target),
                    storable(session.draft),
                    _settings_text(session.settings),
                ),
            )

    def rename(self, session: int, title: str) -> None:
        """Changes the title of a session, which keeps its place in the list."""
        self._set(session, "title", storable(title))

    def touch(self, session: int, at: float | None = None) -> None:
        """Moves a session to the top of the list."""
        self._set(session, "updated", time.time() if at is None else at)

    def set_head(self, session: int, head: int | None) -> None:
        """Selects the branch that is shown, by its last message. Raises StoreError for a message of another session."""
        self._set(session, "head", head)

    def set_system(self, session: int, system: str | None) -> None:
        """Sets the system prompt."""
        self._set(session, "system", storable(system))

    def set_seed(self, session: int, seed: int | None) -> None:
        """Sets the seed from which the seeds of turns are derived."""
        self._set(session, "seed", _seed_text(seed))

    def set_settings(self, session: int, settings: Mapping[str, Any] | None) -> None:
        """Stores the settings with which the session continues, as JSON."""
        self._set(session, "settings", _settings_text(settings))

    def set_pair(self, session: int, target: str | None, draft: str | None) -> None:
        """Stores the models with which the session continues."""
        with self.together():
            self._set(session, "target", storable(target))
            self._set(session, "draft", storable(draft))

    def sessions(self, limit: int = 50, offset: int = 0) -> list[StoredSession]:
        """A page of the list, most recently used first, without deleted sessions."""
        return [
            _session(row)
            for row in self._rows(
                f"SELECT {_COLUMNS} FROM sessions WHERE deleted IS NULL ORDER BY updated DESC, id LIMIT ? OFFSET ?",
                (limit, offset),
            )
        ]

    def session(self, session: int) -> StoredSession | None:
        """One session, or None if there is none or it is deleted."""
        row = self._first(f"SELECT {_COLUMNS} FROM sessions WHERE id = ? AND deleted IS NULL", (session,))
        return _session(row) if row else None

    def num_sessions(self) -> int:
        """The length of the list."""
        row = self._first("SELECT count(*) FROM sessions WHERE deleted IS NULL")
        return int(row[0]) if row else 0

    def delete(self, session: int, at: float | None = None) -> None:
        """Removes a session from the list and the search; `undo_delete` restores it until it is purged."""
        self._set(session, "deleted", time.time() if at is None else at)

    def undo_delete(self, session: int) -> None:
        """Restores a deleted session in its old place. Raises StoreError if it was purged."""
        self._set(session, "deleted", None)

    def purge(self, older_than: float, now: float | None = None) -> int:
        """Erases sessions deleted more than `older_than` seconds ago. Returns their number.

        Their messages and traces are overwritten in the file. The figures of their turns, which contain no text, stay
        for the records of pairs.
        """
        deadline = (time.time() if now is None else now) - older_than
        with self.together():
            return self._run("DELETE FROM sessions WHERE deleted IS NOT NULL AND deleted <= ?", (deadline,))

    def _set(self, session: int, column: str, value: object) -> None:
        self._change("session", f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session))


def _session(row: tuple[Any, ...]) -> StoredSession:
    (id_, title, created, updated, system, seed, target, draft, settings, head, num_messages, preview) = row
    return StoredSession(
        id=id_,
        title=title,
        created=created,
        updated=updated,
        system=system,
        seed=None if seed is None else int(seed),
        target=target,
        draft=draft,
        settings=None if settings is None else json.loads(settings),
        head=head,
        num_messages=num_messages,
        preview=preview,
    )


def _seed_text(seed: int | None) -> str | None:
    """A seed may have 64 bits without a sign, one more than SQLite's integers."""
    return None if seed is None else str(seed)


def _settings_text(settings: Mapping[str, Any] | None) -> str | None:
    return None if settings is None else json.dumps(settings)
