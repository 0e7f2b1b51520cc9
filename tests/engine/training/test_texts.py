"""Files become texts, or one line that says why not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specchat_engine import Message, SettingError
from specchat_engine.training.texts import Chat, in_json, read_texts


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


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
        {"prompt": "Hi", "response": "Hello"},
        {"instruction": "Hi", "input": "", "output": "Hello"},
        {"question": "Hi", "answer": "Hello", "id": 3},
    ],
)
def test_chats_are_read_in_the_shapes_of_datasets(record: dict[str, object]) -> None:
    chat = Chat((Message("user", "Hi"), Message("assistant", "Hello")))
    assert in_json(json.dumps(record)) == [chat]
    assert in_json(f"{json.dumps(record)}\n\n{json.dumps(record)}\n") == [chat, chat]
    assert in_json(json.dumps([record, record])) == [chat, chat]


def test_records_without_words_are_passed_over() -> None:
    lines = [{"text": "one"}, {"content": "two"}, "three", {"other": 1}, {"messages": []}, {"messages": ["x"]}, 7, None]
    assert in_json("\n".join(json.dumps(line) for line in lines)) == ["one", "two", "three"]


def test_json_that_is_broken_is_refused_or_counted(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"text": "one"}\n{"text"')
    with pytest.raises(SettingError, match=r"broken\.jsonl cannot be read: it is not JSON: "):
        read_texts([broken])
    (tmp_path / "good.txt").write_text("two")
    assert read_texts([tmp_path]) == (["two"], 1)
