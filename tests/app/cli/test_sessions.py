"""`specchat sessions`: importing, with one line for each file and each that cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from app.imports.conftest import SAMPLES
from specchat.cli import main
from specchat.settings.paths import sessions_db
from specchat.store import Store


def test_files_are_imported_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(SAMPLES / "conversations.json"), str(SAMPLES / "open-webui.json")]
    assert main(["sessions", "import", *files]) == 0
    output = capsys.readouterr()
    assert output.out == "conversations.json: 1 imported, 1 empty\nopen-webui.json: 1 imported\n"
    assert output.err == ""
    with Store.open(sessions_db()) as store:
        assert {session.title for session in store.sessions()} == {"Rounds and drafts", "Drafts in Open WebUI"}


def test_a_folder_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SAMPLES / "1726000000000.conversation.json", tmp_path)
    assert main(["sessions", "import", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1726000000000.conversation.json: 1 imported\n"


def test_what_cannot_be_read_is_a_line_and_the_rest_is_imported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    damaged = tmp_path / "damaged.json"
    damaged.write_text("[")
    partly = tmp_path / "partly.json"
    partly.write_text(json.dumps([json.loads((SAMPLES / "conversations.json").read_text())[0], *range(30)]))
    assert main(["sessions", "import", str(tmp_path / "empty"), str(damaged), str(partly)]) == 1
    output = capsys.readouterr()
    assert output.out == "partly.json: 1 imported, 30 unreadable\n"
    lines = output.err.splitlines()
    assert "no conversations.json" in lines[0]
    assert lines[1].startswith(f"specchat: {damaged}: it is not valid JSON")
    assert lines[2].startswith(f"specchat: {partly}: conversation 2: it is not an export")
    assert lines[-1] == f"specchat: {partly}: 10 more conversations cannot be read"
    assert len(lines) == 2 + 20 + 1


def test_the_numbers_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "import", "--json", str(SAMPLES / "conversations.json")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["type"], record["new"], record["present"], record["empty"]) == ("import", 1, 0, 1)
