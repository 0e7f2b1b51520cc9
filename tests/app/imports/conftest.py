"""Exports in the shapes of real ones."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture(autouse=True)
def gave_way() -> list[None]:
    """Nothing here opens a screen, nor needs the application for it."""
    return []


@pytest.fixture
def sample() -> Callable[[str], Any]:
    """The content of a sample."""
    return lambda name: json.loads((SAMPLES / name).read_text("utf-8"))


@pytest.fixture
def oterm_store(tmp_path: Path) -> Path:
    """A store as oterm 0.9 makes it, with one message of its first versions."""
    path = tmp_path / "store.db"
    write_oterm_store(
        path,
        [(1, "On drafts", "Be brief."), (2, "chat #2", None)],
        [
            (1, "me", "What is a draft?"),
            (1, "assistant", "Tokens that may be right."),
            (1, "tool", "what a tool returned"),
            (1, "user", "And a round?"),
            (1, "assistant", "One draft, one pass."),
        ],
    )
    return path


def write_oterm_store(
    path: Path, chats: Sequence[tuple[int, str, str | None]], messages: Sequence[tuple[int, str, str]]
) -> None:
    """Writes the two tables of oterm."""
    with closing(sqlite3.connect(path)) as made, made:
        made.execute(
            "CREATE TABLE chat (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, model TEXT NOT NULL, system TEXT,"
            " format TEXT, parameters TEXT DEFAULT '{}', keep_alive INTEGER DEFAULT 5, tools TEXT DEFAULT '[]')"
        )
        made.execute(
            "CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id INTEGER NOT NULL,"
            " author TEXT NOT NULL, text TEXT NOT NULL, images TEXT DEFAULT '[]')"
        )
        made.executemany("INSERT INTO chat (id, name, model, system) VALUES (?, ?, 'llama3.2', ?)", chats)
        made.executemany("INSERT INTO message (chat_id, author, text) VALUES (?, ?, ?)", messages)
