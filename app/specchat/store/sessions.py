"""Sessions: made, changed, listed, deleted and brought back."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from specchat.store.connection import Database
from specchat.store.records import StoredSession
from specchat.store.text import storable

_COLUMNS = "id, title, created, updated, system, seed, target, draft, settings, head, num_messages, preview"


class Sessions(Database):
    """The part of the store that knows sessions."""

    def create(self, session: StoredSession) -> None:
        """Stores a new session without messages; its head, number of messages and preview are the store's own.

        Without a time of its own, `updated` is when it was created. Raises StoreError for an id that is taken.
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
        """Gives a session a title; it keeps its place in the list."""
        self._set(session, "title", storable(title))

    def touch(self, session: int, at: float | None = None) -> None:
        """Moves a session to the top of the list."""
        self._set(session, "updated", time.time() if at is None else at)

    def set_head(self, session: int, head: int | None) -> None:
        """Says which branch is shown, by its last message. Raises StoreError for a message of another session."""
        self._set(session, "head", head)

    def set_system(self, session: int, system: str | None) -> None:
        """Sets the system prompt."""
        self._set(session, "system", storable(system))

    def set_seed(self, session: int, seed: int | None) -> None:
        """Sets the seed that the turns' seeds are made of."""
        self._set(session, "seed", _seed_text(seed))

    def set_settings(self, session: int, settings: Mapping[str, Any] | None) -> None:
        """Keeps the settings that the session is continued with, as JSON."""
        self._set(session, "settings", _settings_text(settings))

    def set_pair(self, session: int, target: str | None, draft: str | None) -> None:
        """Keeps the models that the session is continued with."""
        with self.together():
            self._set(session, "target", storable(target))
            self._set(session, "draft", storable(draft))

    def sessions(self, limit: int = 50, offset: int = 0) -> list[StoredSession]:
        """A page of the list, the most recently used first, without the deleted ones."""
        return [
            _session(row)
            for row in self._rows(
                f"SELECT {_COLUMNS} FROM sessions WHERE deleted IS NULL ORDER BY updated DESC, id LIMIT ? OFFSET ?",
                (limit, offset),
            )
        ]

    def session(self, session: int) -> StoredSession | None:
        """One session; None where there is none or it is deleted."""
        row = self._first(f"SELECT {_COLUMNS} FROM sessions WHERE id = ? AND deleted IS NULL", (session,))
        return _session(row) if row else None

    def num_sessions(self) -> int:
        """How long the list is."""
        row = self._first("SELECT count(*) FROM sessions WHERE deleted IS NULL")
        return int(row[0]) if row else 0

    def delete(self, session: int, at: float | None = None) -> None:
        """Takes a session out of the list and the search; `undo_delete` brings it back until it is purged."""
        self._set(session, "deleted", time.time() if at is None else at)

    def undo_delete(self, session: int) -> None:
        """Brings a deleted session back to where it was. Raises StoreError where it was purged."""
        self._set(session, "deleted", None)

    def purge(self, older_than: float, now: float | None = None) -> int:
        """Removes for good what was deleted more than `older_than` seconds ago; returns how many sessions that were.

        Their messages and traces are overwritten in the file. The figures of their turns, which hold no text, stay:
        the record of a pair is made of them.
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
    """A seed may have 64 bits without a sign, one more than the database's integers."""
    return None if seed is None else str(seed)


def _settings_text(settings: Mapping[str, Any] | None) -> str | None:
    return None if settings is None else json.dumps(settings)
