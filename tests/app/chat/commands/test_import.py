"""An import in a process of its own, with what it says in one line; `tests/app/imports` has the formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.chat.commands.recording_front_end import RecordingFrontEnd
from app.tui.chatting import chat, command, notices, quiet
from app.tui.scripted_client import ScriptedClient
from specchat.settings.paths import sessions_db
from specchat.store.store import Store

SAMPLES = Path(__file__).parents[2] / "imports" / "samples"


def titles() -> list[str]:
    with Store.open(sessions_db()) as store:
        return sorted(session.title for session in store.sessions(50))


async def test_an_export_is_imported_once_and_the_line_says_so(tmp_path: Path) -> None:
    sample = SAMPLES / "conversations.json"
    note = await RecordingFrontEnd().give(f"/import {sample}")
    assert note.startswith(f"{sample.name}: 1 imported")
    assert titles() == ["Rounds and drafts"]
    assert f"{sample.name}: 0 imported" in await RecordingFrontEnd().give(f"/import {sample}")
    assert titles() == ["Rounds and drafts"]


async def test_what_became_of_all_exports_in_a_folder_is_added_up(tmp_path: Path) -> None:
    for name in ("conversations.json", "1726000000000.conversation.json"):
        (tmp_path / name).write_bytes((SAMPLES / name).read_bytes())
    (tmp_path / "conversations-1.json").write_text('[{"mapping": {}}, {"mapping": 3}]')
    note = await RecordingFrontEnd().give(f"/import {tmp_path}")
    assert note == f"{tmp_path.name}: 2 imported, 2 empty, 1 unreadable from 3 files. Ctrl+O or /sessions lists them"


@pytest.mark.parametrize(("content", "why"), [(None, "there is no"), ("{}", "not an export")])
async def test_what_cannot_be_imported_is_one_line_too(tmp_path: Path, content: Any, why: str) -> None:
    file = tmp_path / "conversations.json"
    if content is not None:
        file.write_text(content)
    note = await RecordingFrontEnd().give(f"/import {file}")
    assert why in note
    assert "\n" not in note
    assert titles() == []


async def test_the_app_imports_while_the_chat_goes_on() -> None:
    sample = SAMPLES / "conversations.json"
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, f"/import {sample}")
        await pilot.app.workers.wait_for_complete()
        await quiet(pilot)
        assert f"{sample.name}: 1 imported" in notices(pilot)[-1]
    assert titles() == ["Rounds and drafts"]
