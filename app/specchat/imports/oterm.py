"""Conversations of oterm's store, a SQLite file: `oterm --db` prints where it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from time import monotonic
from urllib.parse import quote

from specchat.errors import UnreadableExport
from specchat.imports.json_stream import LONGEST
from specchat.imports.records import MOST_SECONDS, ImportedChat, ImportedMessage, in_turn, text

SOURCE = "oterm"

_STEPS = 10_000
"""The number of SQLite's steps between looks at the clock."""

_ROLES: Mapping[str, str] = {"me": "user", "ollama": "assistant"}
"""What the first versions called the two."""


def read_chats(path: Path, longest: int = LONGEST) -> Iterator[ImportedChat]:
    """The conversations, oldest first. The store has no times.

    Raises UnreadableExport, also if a conversation has more than `longest` characters.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as store:
            store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            store.set_authorizer(_reads_tables)
            deadline = monotonic() + MOST_SECONDS
            store.set_progress_handler(lambda: monotonic() > deadline, _STEPS)
            tables = store.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('chat', 'message')"
            )
            if len(tables.fetchall()) < 2:
                raise UnreadableExport("it is a database, but not oterm's")
            for number, name, system in store.execute("SELECT id, name, system FROM chat ORDER BY id"):
                messages = in_turn(_messages(store, number, longest))
                # Ids count from 1 in every store, so the first message is part of the key.
                key = f"{number}\0{messages[0].content}" if messages else ""
                yield ImportedChat(SOURCE, key, text(name), messages, system=text(system) or None)
    except sqlite3.Error as error:
        raise UnreadableExport(f"its database cannot be read: {error}") from None


def _reads_tables(action: int, *of: str | None) -> int:
    """Allows to read tables. A view, whose name comes last in `of`, may return rows without end."""
    reads = action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ) and of[-1] is None
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def _messages(store: sqlite3.Connection, chat: object, longest: int) -> Iterator[ImportedMessage]:
    length = 0
    for author, content in store.execute("SELECT author, text FROM message WHERE chat_id = ? ORDER BY rowid", (chat,)):
        length += len(text(content))
        if length > longest:
            raise UnreadableExport(f"conversation {chat} has more than {longest:,} characters")
        yield ImportedMessage(_ROLES.get(text(author), text(author)), text(content))
