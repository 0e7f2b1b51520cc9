"""Files become texts, or one line that says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat_engine import SettingError
from specchat_engine.testing import ByteTokenizer
from specchat_engine.training.texts import documents_of, read_texts


def test_folders_are_read_whole_and_what_is_no_text_is_counted(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "sub" / "b.md").write_text("zwei ä")
    (tmp_path / "empty.txt").write_text("  \n")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\xff\xfe")
    (tmp_path / ".git" / "config").write_text("hidden")
    assert read_texts([tmp_path]) == (["one", "zwei ä"], 1)


def test_a_named_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    latin = tmp_path / "latin.txt"
    latin.write_bytes("café".encode("latin-1"))
    with pytest.raises(SettingError, match=r"latin\.txt cannot be read: it is not UTF-8 text"):
        read_texts([latin])


def test_nothing_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="does not exist: name text files or folders"):
        read_texts([tmp_path / "missing"])
    with pytest.raises(SettingError, match="there is no text in"):
        read_texts([tmp_path])


def test_documents_are_at_most_so_long_and_learned_whole() -> None:
    found = [*documents_of(["abcdefgh", "x"], ByteTokenizer(), 5)]
    assert [len(document.ids) for document in found] == [5, 3]
    assert all(all(document.learned) for document in found)
