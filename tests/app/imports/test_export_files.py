"""The kind of export of a file, from its content, and the errors for other files."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.imports.conftest import SAMPLES
from specchat.errors import UnreadableExport
from specchat.imports import ImportedChat, SkippedChat, files_in, read_export
from specchat.imports.export_files import MOST_BYTES

Sample = Callable[[str], Any]


def titles(path: Path) -> list[str]:
    return [chat.title for chat in read_export(path) if isinstance(chat, ImportedChat)]


def refused(path: Path) -> str:
    """The one line that is said about a file."""
    with pytest.raises(UnreadableExport) as caught:
        list(read_export(path))
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["conversations.json", "open-webui.json", "1726000000000.conversation.json"])
def test_the_name_of_a_file_does_not_matter(tmp_path: Path, name: str) -> None:
    path = tmp_path / "export"
    path.write_bytes(b"\xef\xbb\xbf" + (SAMPLES / name).read_bytes())
    assert titles(path) == titles(SAMPLES / name) != []


def test_an_oterm_store_is_read(oterm_store: Path) -> None:
    assert titles(oterm_store) == ["On drafts", "chat #2"]


def archived(path: Path, **parts: str) -> Path:
    """An archive with these files, and others that are not conversations."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr("user.json", '{"id": "user-1"}')
        for name, content in parts.items():
            archive.writestr(f"export/{name}.json", content)
    return path


def test_the_conversations_are_found_in_the_archive_and_its_parts_read_in_order(tmp_path: Path, sample: Sample) -> None:
    whole = archived(tmp_path / "whole.zip", conversations=(SAMPLES / "conversations.json").read_text("utf-8"))
    assert titles(whole) == ["Rounds and drafts", ""]
    first = sample("conversations.json")[0]
    parts = {f"conversations-00{part}": json.dumps([first | {"title": f"part {part}"}]) for part in (1, 0)}
    assert titles(archived(tmp_path / "parts.zip", **parts)) == ["part 0", "part 1"]


def test_a_damaged_archive_and_one_without_conversations_are_refused(tmp_path: Path) -> None:
    assert "no conversations.json in this archive" in refused(archived(tmp_path / "other.zip"))
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(SAMPLES / "conversations.json", "conversations.json")
    content = bytearray(path.read_bytes())
    content[200:260] = bytes(60)
    path.write_bytes(content)
    assert "damaged" in refused(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not valid JSON"),
        (b"Dear diary", "not valid JSON"),
        (b'{"name": "a package", "version": "1.0"}', "not an export of ChatGPT, Open WebUI, LM Studio or oterm"),
        (b"[1, 2, 3]", "not an export of"),
        (b'["\xff"]', "not UTF-8"),
        (b"SQLite format 3\0", "its database cannot be read"),
    ],
)
def test_other_files_are_refused_with_the_reason(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    assert reason in refused(path)


def test_a_conversation_of_another_shape_is_skipped_with_its_number(tmp_path: Path, sample: Sample) -> None:
    path = tmp_path / "conversations.json"
    first = sample("conversations.json")[0]
    path.write_text(json.dumps([first, {"mapping": 7}, first | {"title": "the last"}]))
    before, skipped, after = read_export(path)
    assert isinstance(skipped, SkippedChat)
    assert (skipped.number, "not an export of" in skipped.reason) == (2, True)
    assert isinstance(before, ImportedChat)
    assert isinstance(after, ImportedChat)
    assert after.title == "the last"


ODD = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3) | st.just([]) | st.just({})
ANYTHING = ODD | st.lists(ODD, max_size=2) | st.dictionaries(st.sampled_from(["text", "type", "role"]), ODD, max_size=2)


def places(value: object) -> Iterator[tuple[Any, Any]]:
    """Every object and list inside a value, with each of its keys."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield value, key
        yield from places(inner)


@given(st.data(), st.sampled_from(sorted(path.name for path in SAMPLES.iterdir())))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_whatever_stands_in_a_field_the_export_is_read_or_refused(
    tmp_path: Path, data: st.DataObject, name: str
) -> None:
    content = json.loads((SAMPLES / name).read_text("utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from([*places(content)]))
        holder[key] = data.draw(ANYTHING)
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(content))
    found: list[ImportedChat | SkippedChat] = []
    with suppress(UnreadableExport):
        found += read_export(path)
    for chat in found:
        assert isinstance(chat, SkippedChat) or all(message.content.strip() for message in chat.messages)


def test_a_folder_stands_for_the_exports_in_it(tmp_path: Path) -> None:
    inner = tmp_path / "lmstudio" / "work"
    inner.mkdir(parents=True)
    (inner / "1.conversation.json").touch()
    (tmp_path / "conversations.json").touch()
    (tmp_path / "chat-export-1736000000000.json").touch()
    (tmp_path / "user.json").touch()
    chats = [tmp_path / "chat-export-1736000000000.json", tmp_path / "conversations.json"]
    assert files_in(tmp_path) == [*chats, inner / "1.conversation.json"]
    assert files_in(inner / "1.conversation.json") == [inner / "1.conversation.json"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableExport, match=r"no conversations\.json"):
        files_in(tmp_path / "empty")


def test_missing_files_pipes_devices_and_files_larger_than_an_export_are_refused_at_once(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "missing.json")
    pipe = tmp_path / "conversations.json"
    os.mkfifo(pipe)
    assert "not a regular file" in refused(pipe)
    assert "not a regular file" in refused(Path("/dev/zero"))
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    assert "larger than 4 GB" in refused(path)
