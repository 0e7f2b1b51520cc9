"""What the models have read of a session, kept when it is left."""

import os
from pathlib import Path

from app.tui.scripted_client import ScriptedClient
from specchat.tui.memories import MOST, WORTH_KEEPING, Memories

LONG = WORTH_KEEPING


async def test_a_session_that_was_left_is_recalled_as_it_was_kept(tmp_path: Path) -> None:
    client = ScriptedClient()
    memories = Memories(client, tmp_path)
    assert await memories.keep(7, LONG)
    client.kept[0].mkdir(parents=True)
    assert await memories.recall(7)
    assert client.recalled == client.kept


async def test_a_short_session_is_not_worth_keeping(tmp_path: Path) -> None:
    client = ScriptedClient()
    assert not await Memories(client, tmp_path).keep(7, WORTH_KEEPING - 1)
    assert client.kept == []


async def test_a_session_that_was_never_kept_is_not_asked_for(tmp_path: Path) -> None:
    client = ScriptedClient()
    assert not await Memories(client, tmp_path).recall(7)
    assert client.recalled == []


async def test_what_the_engine_will_not_keep_is_not_kept(tmp_path: Path) -> None:
    assert not await Memories(ScriptedClient(keeps=False), tmp_path).keep(7, LONG)


async def test_only_the_sessions_that_were_left_last_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "memories"
    memories = Memories(ScriptedClient(), folder)
    for session in range(MOST + 2):
        kept = folder / f"{session:016x}"
        kept.mkdir(parents=True)
        os.utime(kept, (session, session))
    assert await memories.keep(MOST + 1, LONG)
    assert sorted(int(path.name, 16) for path in folder.iterdir()) == list(range(2, MOST + 2))
