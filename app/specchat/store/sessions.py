"""Sessions and their messages: the list of conversations, and the tree of each."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from specchat.errors import StoreError
from specchat.store.connection import Database
from specchat.store.images import StoredImage
from specchat.store.records import State, StoredMessage, StoredSession, ToolUse, preview_of, storable
from specchat.store.writers import is_alive
from specchat_engine.codec import from_json, to_json

_log = logging.getLogger(__name__)

Read = TypeVar("Read")

_OF_SESSION = (
    "id, title, created, updated, system, seed, target, draft, settings, head, num_messages, preview,"
    " (SELECT group_concat(name, ' ') FROM tags WHERE session = sessions.id)"
)
_OF_MESSAGE = "id, session, parent, role, content, created, state, turn, attempt, figures, summary, tools, images"


class Sessions(Database):
    """The part of the store that keeps sessions and messages."""

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
            self._add_tags(session.id, session.tags)

    def rename(self, session: int, title: str) -> None:
        """Changes the title of a session, which keeps its place in the list."""
        self._set(session, "title", storable(title))

    def touch(self, session: int, at: float | None = None) -> None:
        """Moves a session to the top of the list."""
        self._set(session, "updated", time.time() if at is None else at)

    def change(self, session: StoredSession) -> None:
        """Stores the title, the system prompt, the seed, the models, and the branch that is shown, by its last message.

        Raises StoreError for a message of another session.
        """
        self._change(
            "session",
            "UPDATE sessions SET title = ?, system = ?, seed = ?, target = ?, draft = ?, head = ? WHERE id = ?",
            (
                storable(session.title),
                storable(session.system),
                _seed_text(session.seed),
                storable(session.target),
                storable(session.draft),
                session.head,
                session.id,
            ),
        )

    def set_settings(self, session: int, settings: Mapping[str, Any] | None) -> None:
        """Stores the settings with which the session continues, as JSON."""
        self._set(session, "settings", _settings_text(settings))

    def sessions(self, limit: int = 50, offset: int = 0) -> list[StoredSession]:
        """A page of the list, most recently used first, without deleted sessions."""
        return [
            _session(row)
            for row in self._rows(
                f"SELECT {_OF_SESSION} FROM sessions WHERE deleted IS NULL ORDER BY updated DESC, id LIMIT ? OFFSET ?",
                (limit, offset),
            )
        ]

    def session(self, session: int) -> StoredSession | None:
        """One session, or None if there is none or it is deleted."""
        row = self._first(f"SELECT {_OF_SESSION} FROM sessions WHERE id = ? AND deleted IS NULL", (session,))
        return _session(row) if row else None

    def is_deleted(self, session: int) -> bool:
        """True if the session was deleted and is not yet purged."""
        return self._first("SELECT 1 FROM sessions WHERE id = ? AND deleted IS NOT NULL", (session,)) is not None

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

    def images_in_use(self) -> set[str]:
        """The hashes of all images that messages show, also in sessions that were deleted and not yet purged."""
        rows = self._rows("SELECT id, images FROM messages WHERE images IS NOT NULL")
        return {image.sha256 for message, images in rows for image in _images(message, images)}

    def _add_tags(self, session: int, tags: Iterable[str]) -> None:
        for name in tags:
            self._run("INSERT OR IGNORE INTO tags (session, name) VALUES (?, ?)", (session, name))

    def _set(self, session: int, column: str, value: object) -> None:
        self._change("session", f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, session))

    def add_message(self, message: StoredMessage) -> None:
        """Stores a new message. It becomes the head of its session, which moves to the top of the list.

        Raises StoreError if the id is taken, or the session or parent does not exist.
        """
        with self.together():
            self._run(
                f"INSERT INTO messages ({_OF_MESSAGE}, writer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    message.id,
                    message.session,
                    message.parent,
                    storable(message.role),
                    storable(message.content),
                    message.created,
                    message.state.value,
                    message.turn,
                    message.attempt,
                    storable(message.figures),
                    storable(message.summary),
                    _tools_text(message.tools),
                    _images_text(message.images),
                    self._writing(message.state),
                ),
            )
            self._run(
                "UPDATE sessions SET head = ?, num_messages = num_messages + 1, updated = max(updated, ?) WHERE id = ?",
                (message.id, message.created, message.session),
            )
            self._keep_preview(message.id)

    def update_message(
        self,
        message: int,
        *,
        content: str | None = None,
        state: State | None = None,
        figures: str | None = None,
        summary: str | None = None,
        tools: ToolUse | None = None,
    ) -> None:
        """Stores the given parts of a message and leaves the rest unchanged.

        While an answer is STREAMING it is marked as written by this application, so that others do not mark it as cut.
        Raises StoreError if there is no such message.
        """
        values: dict[str, Any] = {}
        if content is not None:
            values["content"] = storable(content)
        if state is not None:
            values |= {"state": state.value, "writer": self._writing(state)}
        if figures is not None:
            values["figures"] = storable(figures)
        if summary is not None:
            values["summary"] = storable(summary)
        if tools is not None:
            values["tools"] = _tools_text(tools)
        if not values:
            return
        columns = ", ".join(f"{name} = ?" for name in values)
        with self.together():
            self._change("message", f"UPDATE messages SET {columns} WHERE id = ?", (*values.values(), message))
            if content is not None:
                self._keep_preview(message)

    def remove_message(self, message: int) -> None:
        """Removes a message without replies. If it was the head, its parent becomes the head.

        Raises StoreError if there is no such message or if it has replies.
        """
        with self.together():
            row = self._first("SELECT session, parent FROM messages WHERE id = ?", (message,))
            if row is None or self._first("SELECT 1 FROM messages WHERE session = ? AND parent = ?", (row[0], message)):
                raise StoreError(f"message {message} in {self.path} cannot be removed: it is gone, or has an answer")
            session, parent = row
            self._run(
                "UPDATE sessions SET head = iif(head = ?, ?, head), num_messages = num_messages - 1 WHERE id = ?",
                (message, parent, session),
            )
            self._run("DELETE FROM messages WHERE id = ?", (message,))
            self._keep_preview_of(session)

    def messages(self, session: int) -> list[StoredMessage]:
        """All messages of a session, of every branch, in the order in which they were added."""
        return [
            _message(row)
            for row in self._rows(f"SELECT {_OF_MESSAGE} FROM messages WHERE session = ? ORDER BY row", (session,))
        ]

    def recover(self) -> int:
        """Marks unfinished answers whose application has ended as cut. Returns their number."""
        if not self._gone():
            return 0
        with self.together():
            return sum(
                self._run(
                    "UPDATE messages SET state = 'cut', writer = NULL WHERE state = 'streaming' AND writer IS ?",
                    (writer,),
                )
                for writer in self._gone()
            )

    def _gone(self) -> list[int | None]:
        """The applications that have ended and left unfinished answers."""
        writers = [row[0] for row in self._rows("SELECT DISTINCT writer FROM messages WHERE state = 'streaming'")]
        return [writer for writer in writers if writer is None or not self._lives(writer)]

    def _lives(self, writer: int) -> bool:
        return (self._writer is not None and writer == self._writer.id) or is_alive(self.path, writer)

    def _writing(self, state: State) -> int | None:
        """The application to record for a message in this state: this one while it streams."""
        return self._writer.id if state is State.STREAMING and self._writer is not None else None

    def _keep_preview(self, message: int) -> None:
        row = self._first("SELECT session FROM messages WHERE id = ?", (message,))
        if row is not None:
            self._keep_preview_of(row[0])

    def _keep_preview_of(self, session: int) -> None:
        """Updates the preview: the beginning of the newest message that is not empty."""
        newest = self._first(
            "SELECT content FROM messages WHERE content <> '' AND session = ? ORDER BY row DESC LIMIT 1", (session,)
        )
        preview = preview_of(newest[0]) if newest else ""
        self._run("UPDATE sessions SET preview = ? WHERE id = ? AND preview <> ?", (preview, session, preview))


def _session(row: tuple[Any, ...]) -> StoredSession:
    (id_, title, created, updated, system, seed, target, draft, settings, head, num_messages, preview, tags) = row
    return StoredSession(
        id=id_,
        title=_text(title) or "",
        created=_time(created),
        updated=_time(updated),
        system=_text(system),
        seed=_readable(f"the seed of session {id_}", seed, int, None),
        target=_text(target),
        draft=_text(draft),
        settings=_readable(f"the settings of session {id_}", settings, _settings, None),
        head=head,
        num_messages=num_messages,
        preview=_text(preview) or "",
        tags=tuple(sorted((_text(tags) or "").split())),
    )


def _readable(what: str, value: object, read: Callable[[Any], Read], otherwise: Read) -> Read:
    """What is read of a value; `otherwise` for NULL, and for a damaged value, which costs no more than itself."""
    try:
        return otherwise if value is None else read(value)
    except (StoreError, ValueError, TypeError, RecursionError) as error:
        _log.warning("%s cannot be read: %s", what, error)
        return otherwise


def _text(value: object) -> str | None:
    """The text of a column, also of one that holds bytes or a number where a text belongs."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else str(value)


def _time(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _settings(text: str) -> Mapping[str, Any]:
    settings = json.loads(text)
    if not isinstance(settings, dict):
        raise StoreError(f"{text!r:.60} are not settings")
    return settings


def _seed_text(seed: int | None) -> str | None:
    """A seed may have 64 bits without a sign, one more than SQLite's integers."""
    return None if seed is None else str(seed)


def _settings_text(settings: Mapping[str, Any] | None) -> str | None:
    return None if settings is None else json.dumps(settings)


def _message(row: tuple[Any, ...]) -> StoredMessage:
    (id_, session, parent, role, content, created, state, turn, attempt, figures, summary, tools, images) = row
    return StoredMessage(
        id_,
        session,
        parent,
        _text(role) or "",
        _text(content) or "",
        _time(created),
        _readable(f"the state of message {id_}", state, State, State.CUT),
        turn,
        attempt,
        _text(figures),
        _text(summary),
        _readable(f"message {id_}", tools, lambda text: _tools(id_, text), None),
        _readable(f"message {id_}", images, lambda text: _images(id_, text), ()),
    )


def _tools_text(tools: ToolUse | None) -> str | None:
    return None if tools is None else json.dumps(to_json(tools))


def _tools(message: int, text: str | None) -> ToolUse | None:
    try:
        return None if text is None else from_json(ToolUse, json.loads(text))
    except (ValueError, TypeError):
        raise StoreError(f"the tools of message {message} cannot be read: {text!r:.60}") from None


def _images_text(images: Sequence[StoredImage]) -> str | None:
    return json.dumps([to_json(image) for image in images]) if images else None


def _images(message: int, text: str | None) -> tuple[StoredImage, ...]:
    try:
        return tuple(from_json(StoredImage, value) for value in json.loads(text or "[]"))
    except (ValueError, TypeError):
        raise StoreError(f"the images of message {message} cannot be read: {text!r:.60}") from None
