"""The tables, and the migration of older files. `user_version` counts the steps that were applied.

A message has two numbers. The caller chooses `id`. `row` counts up as messages arrive, which keeps a session's messages
together in the file and lets the full-text index return the newest first without sorting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

APPLICATION_ID = 0x73706563
"""Marks the file as specchat's ("spec")."""

_WORDS = """tokenize = "unicode61 remove_diacritics 2", prefix = '1 2 3'"""

_FIRST = (
    """CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        title TEXT NOT NULL,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        system TEXT,
        seed TEXT,
        target TEXT,
        draft TEXT,
        settings TEXT,
        head INTEGER,
        num_messages INTEGER NOT NULL DEFAULT 0,
        preview TEXT NOT NULL DEFAULT '',
        deleted REAL,
        FOREIGN KEY (id, head) REFERENCES messages (session, id)
    )""",
    "CREATE INDEX sessions_by_age ON sessions (updated DESC, id) WHERE deleted IS NULL",
    "CREATE INDEX sessions_deleted ON sessions (deleted) WHERE deleted IS NOT NULL",
    """CREATE TABLE messages (
        row INTEGER PRIMARY KEY,
        id INTEGER NOT NULL UNIQUE,
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        parent INTEGER,
        role TEXT NOT NULL,
        created REAL NOT NULL,
        state TEXT NOT NULL,
        turn INTEGER,
        attempt INTEGER NOT NULL,
        figures TEXT,
        writer INTEGER,
        content TEXT NOT NULL,
        UNIQUE (session, id),
        FOREIGN KEY (session, parent) REFERENCES messages (session, id) ON DELETE CASCADE
    )""",
    "CREATE INDEX messages_of_a_session ON messages (session, row)",
    "CREATE INDEX messages_by_parent ON messages (session, parent)",
    "CREATE INDEX messages_streaming ON messages (writer) WHERE state = 'streaming'",
    """CREATE TABLE traces (
        message INTEGER PRIMARY KEY REFERENCES messages (id) ON DELETE CASCADE,
        lines BLOB NOT NULL
    )""",
    """CREATE TABLE turns (
        message INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        pair TEXT NOT NULL,
        created REAL NOT NULL,
        stats TEXT NOT NULL
    )""",
    "CREATE INDEX turns_of_a_session ON turns (session, created)",
    "CREATE INDEX turns_of_a_pair ON turns (pair, created)",
    """CREATE TABLE counters (
        message INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE,
        kind TEXT NOT NULL,
        num_tokens INTEGER NOT NULL,
        num_rounds INTEGER NOT NULL,
        num_draft_tokens INTEGER NOT NULL,
        num_accepted_tokens INTEGER NOT NULL,
        num_rejected_tokens INTEGER NOT NULL,
        decode_ms REAL NOT NULL,
        compared_ms REAL NOT NULL,
        plain_ms REAL NOT NULL,
        PRIMARY KEY (message, kind)
    ) WITHOUT ROWID""",
    f"CREATE VIRTUAL TABLE title_words USING fts5 (title, content = 'sessions', content_rowid = 'id', {_WORDS})",
    """CREATE TRIGGER title_added AFTER INSERT ON sessions BEGIN
        INSERT INTO title_words (rowid, title) VALUES (new.id, new.title);
    END""",
    """CREATE TRIGGER title_changed AFTER UPDATE OF title ON sessions BEGIN
        INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.id, old.title);
        INSERT INTO title_words (rowid, title) VALUES (new.id, new.title);
    END""",
    """CREATE TRIGGER title_removed AFTER DELETE ON sessions BEGIN
        INSERT INTO title_words (title_words, rowid, title) VALUES ('delete', old.id, old.title);
    END""",
    f"CREATE VIRTUAL TABLE message_words USING fts5 (content, content = 'messages', content_rowid = 'row', {_WORDS})",
    # An answer is indexed once, when it is complete.
    """CREATE TRIGGER message_added AFTER INSERT ON messages WHEN new.state <> 'streaming' BEGIN
        INSERT INTO message_words (rowid, content) VALUES (new.row, new.content);
    END""",
    """CREATE TRIGGER message_changed AFTER UPDATE OF content, state ON messages BEGIN
        INSERT INTO message_words (message_words, rowid, content)
            SELECT 'delete', old.row, old.content WHERE old.state <> 'streaming';
        INSERT INTO message_words (rowid, content)
            SELECT new.row, new.content WHERE new.state <> 'streaming';
    END""",
    """CREATE TRIGGER message_removed AFTER DELETE ON messages WHEN old.state <> 'streaming' BEGIN
        INSERT INTO message_words (message_words, rowid, content) VALUES ('delete', old.row, old.content);
    END""",
)

_TAGS = (
    """CREATE TABLE tags (
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        name TEXT NOT NULL,
        PRIMARY KEY (session, name)
    ) WITHOUT ROWID""",
    "CREATE INDEX sessions_of_a_tag ON tags (name)",
)

_SUMMARIES = ("ALTER TABLE messages ADD COLUMN summary TEXT",)

_TOOLS = ("ALTER TABLE messages ADD COLUMN tools TEXT",)
"""The calls of an answer, or of which call a message is the result, as JSON."""

_IMAGES = ("ALTER TABLE messages ADD COLUMN images TEXT",)
"""The names and hashes of a message's images, as JSON."""

STEPS: tuple[Sequence[str], ...] = (_FIRST, _TAGS, _SUMMARIES, _TOOLS, _IMAGES)
"""The migration steps. A published step never changes; a new format appends one."""


def version_of(connection: sqlite3.Connection) -> int:
    """The format of an open file; 0 for a new file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = STEPS) -> None:
    """Migrates the file to the newest format in one transaction. Two applications may do so at the same time."""
    if version_of(connection) >= len(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[version_of(connection) :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(steps)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
