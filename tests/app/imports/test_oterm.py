"""oterm's store: its chats, its old names of roles, and other databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from specchat.errors import UnreadableExport
from specchat.imports.oterm import read_chats


def test_chats_are_read_with_the_roles_of_all_versions_and_the_store_stays_as_it_is(oterm_store: Path) -> None:
    before = oterm_store.read_bytes()
    first, second = read_chats(oterm_store)
    assert (first.source, first.title, first.system) == ("oterm", "On drafts", "Be brief.")
    assert [(message.role, message.content) for message in first.messages] == [
        ("user", "What is a draft?"),
        ("assistant", "Tokens that may be right."),
        ("user", "And a round?"),
        ("assistant", "One draft, one pass."),
    ]
    assert (second.title, second.messages) == ("chat #2", ())
    assert oterm_store.read_bytes() == before
    assert [*oterm_store.parent.glob("store.db*")] == [oterm_store]


def test_another_database_and_a_damaged_one_are_named(oterm_store: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE bookmarks (id)")
    with pytest.raises(UnreadableExport, match="not oterm's"):
        list(read_chats(path))
    content = bytearray(oterm_store.read_bytes())
    content[200:] = b"\x99" * (len(content) - 200)
    oterm_store.write_bytes(content)
    with pytest.raises(UnreadableExport, match="its database cannot be read"):
        list(read_chats(oterm_store))


@pytest.mark.parametrize("forged", [False, True])
def test_a_view_without_an_end_is_not_read(tmp_path: Path, forged: bool) -> None:
    path = tmp_path / "store.db"
    endless = "WITH RECURSIVE rows(n) AS (SELECT 1 UNION ALL SELECT n FROM rows)"
    with closing(sqlite3.connect(path)) as made, made:
        made.execute("CREATE TABLE chat (id, name, system)")
        made.execute("INSERT INTO chat VALUES (1, 'endless', '')")
        made.execute(f"CREATE VIEW message AS {endless} SELECT 1 chat_id, 'user' author, 'x' text, 1 rowid FROM rows")
        if forged:  # a second entry for the table `chat`, so that there are two tables
            made.execute("PRAGMA writable_schema = ON")
            made.execute(
                "INSERT INTO sqlite_schema SELECT type, name, tbl_name, rootpage,"
                " 'CREATE TABLE IF NOT EXISTS chat (id, name, system)' FROM sqlite_schema WHERE name = 'chat'"
            )
    with pytest.raises(UnreadableExport, match="not authorized" if forged else "not oterm's"):
        list(read_chats(path))


def test_a_conversation_has_a_longest_length(oterm_store: Path) -> None:
    with pytest.raises(UnreadableExport, match="conversation 1 has more than 30 characters"):
        list(read_chats(oterm_store, longest=30))
