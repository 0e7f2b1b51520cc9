"""oterm's store: its chats, its old names of roles, and other databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from specchat.errors import UnreadableExport
from specchat.imports.oterm import read_chats


def test_chats_are_read_with_the_roles_of_all_versions(oterm_store: Path) -> None:
    first, second = read_chats(oterm_store)
    assert (first.source, first.title, first.system) == ("oterm", "On drafts", "Be brief.")
    assert [(message.role, message.content) for message in first.messages] == [
        ("user", "What is a draft?"),
        ("assistant", "Tokens that may be right."),
        ("user", "And a round?"),
        ("assistant", "One draft, one pass."),
    ]
    assert (second.title, second.messages) == ("chat #2", ())


def test_reading_leaves_the_store_as_it_is(oterm_store: Path) -> None:
    before = oterm_store.read_bytes()
    list(read_chats(oterm_store))
    assert oterm_store.read_bytes() == before
    assert [*oterm_store.parent.glob("store.db*")] == [oterm_store]


def test_another_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE bookmarks (id)")
    with pytest.raises(UnreadableExport, match="not oterm's"):
        list(read_chats(path))


def test_a_damaged_store_is_named(oterm_store: Path) -> None:
    content = bytearray(oterm_store.read_bytes())
    content[200:] = b"\x99" * (len(content) - 200)
    oterm_store.write_bytes(content)
    with pytest.raises(UnreadableExport, match="its database cannot be read"):
        list(read_chats(oterm_store))
