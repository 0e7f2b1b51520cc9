"""Conversations of oterm's store, a SQLite file: `oterm --db` prints where it is."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from specchat.errors import UnreadableExport
from specchat.imports.records import ImportedChat, ImportedMessage, in_turn
from specchat.imports.values import text

SOURCE = "oterm"

_ROLES: Mapping[str, str] = {"me": "user", "ollama": "assistant"}
"""What the first versions called the two."""


def read_chats(path: Path) -> Iterator[ImportedChat]:
    """The conversations, oldest first. The store has no times. Raises UnreadableExport."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True)) as store:
            store.execute("PRAGMA trusted_schema = OFF")
            tables = store.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('chat', 'message')"
            )
            if len(tables.fetchall()) < 2:
                raise UnreadableExport("it is a database, but not oterm's")
            for number, name, system in store.execute("SELECT id, name, system FROM chat ORDER BY id"):
                messages = in_turn(_messages(store, number))
                # Ids count from 1 in every store, so the first message is part of the key.
                key = f"{number}\0{messages[0].content}" if messages else ""
                yield ImportedChat(SOURCE, key, text(name), messages, system=text(system) or None)
    except sqlite3.Error as error:
        raise UnreadableExport(f"its database cannot be read: {error}") from None


def _messages(store: sqlite3.Connection, chat: object) -> Iterator[ImportedMessage]:
    for author, said in store.execute("SELECT author, text FROM message WHERE chat_id = ? ORDER BY rowid", (chat,)):
        yield ImportedMessage(_ROLES.get(text(author), text(author)), text(said))
