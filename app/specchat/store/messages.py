"""Messages: the nodes of a session's tree, and answers that are stored while they stream."""

from __future__ import annotations

from typing import Any

from specchat.errors import StoreError
from specchat.store.connection import Database
from specchat.store.records import State, StoredMessage, preview_of, storable
from specchat.store.writers import is_alive

_COLUMNS = "id, session, parent, role, content, created, state, turn, attempt, figures"


class Messages(Database):
    """The part of the store that keeps messages."""

    def add_message(self, message: StoredMessage) -> None:
        """Stores a new message. It becomes the head of its session, which moves to the top of the list.

        Raises StoreError if the id is taken, or the session or parent does not exist.
        """
        with self.together():
            self._run(
                f"INSERT INTO messages ({_COLUMNS}, writer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    ) -> None:
        """Stores the given parts of an answer and leaves the rest unchanged.

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
            for row in self._rows(f"SELECT {_COLUMNS} FROM messages WHERE session = ? ORDER BY row", (session,))
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


def _message(row: tuple[Any, ...]) -> StoredMessage:
    (id_, session, parent, role, content, created, state, turn, attempt, figures) = row
    try:
        known = State(state)
    except ValueError:
        raise StoreError(f"message {id_} has the state {state!r}, which this specchat does not know") from None
    return StoredMessage(id_, session, parent, role, content, created, known, turn, attempt, figures)
