"""Small files, read within bounds and written at one stroke."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from specchat.errors import FileTooLarge
from specchat.files import bounded_text, load_json, open_regular, replace_text, save_json


def test_threads_can_write_the_same_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "refs" / "main"
    texts = [f"commit {number}" * 50 for number in range(200)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda text: replace_text(path, text), texts))
    assert path.read_text() in texts
    assert [file.name for file in path.parent.iterdir()] == ["main"]


def test_a_failed_write_leaves_the_old_text_and_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "name"
    replace_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace_text(path, "new" * 10_000 + "\ud800")
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["name"]


def test_a_folder_in_place_of_the_file_is_reported_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "name"
    (path / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="name"):
        replace_text(path, "text")
    assert [file.name for file in path.parent.iterdir()] == ["name"]


def test_a_text_is_read_without_a_byte_order_mark_and_with_plain_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\n")
    assert bounded_text(path, 100) == "one\ntwo\n"


def test_a_text_may_have_the_most_bytes_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("ää")
    assert bounded_text(path, 4) == "ää"
    with pytest.raises(FileTooLarge, match=r"notes\.txt has 4 bytes") as refused:
        bounded_text(path, 3)
    assert refused.value.size == 4


def test_only_regular_files_are_opened_and_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    for path in (pipe, link):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(path)
        with pytest.raises(OSError, match="not a regular file"):
            bounded_text(path, 10)
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    assert bounded_text(Path("/dev/null"), 10, pipes=True) == ""


def test_what_was_saved_is_loaded_and_anything_else_is_none(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "counts.json"
    assert load_json(path, dict[str, int]) is None
    save_json(path, {"a": 1})
    assert load_json(path, dict[str, int]) == {"a": 1}
    for text in ("", "{", "[1]", '{"a": "one"}', "[" * 100_000, "\xff"):
        path.write_text(text, encoding="latin-1")
        assert load_json(path, dict[str, int]) is None


def test_a_folder_that_cannot_be_written_is_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "folder").touch()
    save_json(tmp_path / "folder" / "counts.json", {})
    assert "could not be written" in caplog.text
