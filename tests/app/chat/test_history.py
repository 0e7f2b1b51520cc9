import errno
import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat.chat import history
from specchat.chat.history import HistoryEntry, HistorySearch, HistoryWalk, PromptHistory, history_file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data/history.jsonl"


def texts(path: Path | None) -> list[str]:
    return [entry.text for entry in PromptHistory(path).entries]


def test_what_was_sent_is_there_at_the_next_start(path: Path) -> None:
    sent = PromptHistory(path)
    sent.add(HistoryEntry("one"))
    sent.add(HistoryEntry("two\nlines é\u2028", (("[pasted 1]", "long\x1b\ntext"),)))
    assert [*PromptHistory(path).entries] == [*sent.entries]
    assert PromptHistory(path).entries[1] == HistoryEntry("two\nlines é\u2028", (("[pasted 1]", "long\x1b\ntext"),))


def test_the_same_text_twice_in_a_row_is_kept_once(path: Path) -> None:
    sent = PromptHistory(path)
    for text in ("a", "a", "b", "a"):
        sent.add(HistoryEntry(text))
    assert texts(path) == ["a", "b", "a"]
    PromptHistory(path).add(HistoryEntry("a"))
    assert texts(path) == ["a", "b", "a"]


def test_only_the_user_may_read_it(path: Path, isolated_machine: Path) -> None:
    assert isolated_machine in history_file().parents
    path.parent.mkdir()
    path.touch(0o644)
    PromptHistory(path).add(HistoryEntry("secret"))
    assert path.stat().st_mode & 0o777 == 0o600
    path.unlink()
    PromptHistory(path).add(HistoryEntry("secret"))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"",
        b"\xff",
        b"[]",
        b"7",
        b'{"text": 7}',
        b'{"text": "a", "pasted": 7}',
        b'{"text": "a", "pasted": [["x", 7]]}',
        b'{"other": "a"}',
        b"[" * 100_000,
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_bad_line_is_skipped(path: Path, line: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"text": "one"}\n' + line + b'\n{"text": "two"}\n')
    assert texts(path) == ["one", "two"]


def test_a_line_behind_a_torn_one_is_whole(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"text": "one"}\n{"text": "tw')
    PromptHistory(path).add(HistoryEntry("three"))
    assert texts(path) == ["one", "three"]


def test_only_the_newest_are_kept_and_the_file_is_cut_back(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"text": str(number)}) + "\n" for number in range(2600)))
    sent = PromptHistory(path)
    assert [entry.text for entry in sent.entries] == [str(number) for number in range(600, 2600)]
    sent.add(HistoryEntry("new"))
    lines = path.read_text().splitlines()
    assert len(lines) == 2001
    assert texts(path)[-1] == "new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert not path.with_suffix(".unfinished").exists()


def test_a_file_of_many_bytes_is_read_from_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_BYTES", 1000)
    path.parent.mkdir()
    path.write_text("".join(json.dumps({"text": f"{number:080}"}) + "\n" for number in range(50)))
    found = [int(text) for text in texts(path)]
    assert found == list(range(50 - len(found), 50))
    assert len(found) == 10
    assert path.stat().st_size <= 1000


def test_a_very_long_text_is_remembered_until_the_end_only(path: Path) -> None:
    sent = PromptHistory(path)
    sent.add(HistoryEntry("a", (("[pasted]", "x" * history.LONGEST_KEPT),)))
    assert len(sent.entries) == 1
    assert texts(path) == []


def test_two_apps_lose_nothing(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from specchat.chat.history import HistoryEntry, PromptHistory\n"
        "sent = PromptHistory(Path(sys.argv[1]))\n"
        "for number in range(200): sent.add(HistoryEntry(f'{sys.argv[2]} {number}' + 'x' * 4000))"
    )
    apps = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in "ab"]
    assert [app.wait(600) for app in apps] == [0, 0]
    found = [text.rstrip("x") for text in texts(path)]
    assert sorted(found) == sorted(f"{name} {number}" for name in "ab" for number in range(200))
    assert [text for text in found if text[0] == "a"] == [f"a {number}" for number in range(200)]


def test_a_full_disk_costs_the_kept_line_and_nothing_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = PromptHistory(path)
    sent.add(HistoryEntry("one"))

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        sent.add(HistoryEntry("two"))
    sent.add(HistoryEntry("three"))
    assert [entry.text for entry in sent.entries] == ["one", "two", "three"]
    assert texts(path) == ["one", "three"]


def test_a_line_that_fits_only_in_part_is_taken_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = PromptHistory(path)
    sent.add(HistoryEntry("one"))
    write = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
        sent.add(HistoryEntry("two"))
    assert path.read_text() == '{"text": "one"}\n'


def test_a_folder_that_cannot_be_used_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sent = PromptHistory(tmp_path / "file/history.jsonl")
    sent.add(HistoryEntry("one"))
    assert [entry.text for entry in sent.entries] == ["one"]
    folder = tmp_path / "history.jsonl"
    folder.mkdir()
    for history_without_file in (PromptHistory(folder), PromptHistory()):
        history_without_file.add(HistoryEntry("one"))
        assert [entry.text for entry in history_without_file.entries] == ["one"]


def test_an_app_that_holds_the_lock_for_long_is_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        PromptHistory(path).add(HistoryEntry("one"))
    assert texts(path) == ["one"]


@given(text=st.text(), pasted=st.lists(st.tuples(st.text(), st.text())))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=50)
def test_every_text_comes_back_as_it_was(path: Path, text: str, pasted: list[tuple[str, str]]) -> None:
    path.unlink(missing_ok=True)
    PromptHistory(path).add(HistoryEntry(text, tuple(pasted)))
    assert [*PromptHistory(path).entries] == [HistoryEntry(text, tuple(pasted))]


ONE, TWO, DRAFT = HistoryEntry("one"), HistoryEntry("two"), HistoryEntry("draft")


def test_each_walk_goes_to_the_oldest_and_back_to_its_own_draft() -> None:
    walk = HistoryWalk([ONE, TWO])
    assert [walk.older(DRAFT), walk.older(TWO), walk.older(ONE)] == [TWO, ONE, None]
    assert [walk.newer(), walk.newer(), walk.newer()] == [TWO, DRAFT, None]
    assert [walk.older(ONE), walk.newer()] == [TWO, ONE]
    empty = HistoryWalk([])
    assert (empty.older(DRAFT), empty.newer()) == (None, None)


def search(query: str, *texts: str) -> HistorySearch:
    return HistorySearch([HistoryEntry(text) for text in texts], DRAFT).looking_for(query)


def test_a_search_finds_the_newest_first_and_each_text_once() -> None:
    found = search("a", "a1", "b", "a2", "a1")
    assert [entry.text for entry in found.matches] == ["a1", "a2"]
    assert [found.moved(steps).shown.text for steps in (-1, 0, 1, 5)] == ["a1", "a1", "a2", "a2"]

    assert search("a", "ab", "ac").moved(1).looking_for("a").shown == HistoryEntry("ac"), "another query begins again"


def test_what_holds_nothing_leaves_the_draft_and_a_capital_means_a_capital() -> None:
    assert search("x", "a").shown == search("", "a").shown == search("x", "a").moved(1).shown == DRAFT
    assert len(search("why", "Why", "why").matches) == 2
    assert [entry.text for entry in search("Why", "Why", "why").matches] == ["Why"]
