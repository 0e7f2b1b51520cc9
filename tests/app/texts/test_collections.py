"""Collections of texts: made, kept up to date, used and deleted; safe against others and against a kill."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from specchat.cli import main
from specchat.errors import LibraryError
from specchat.texts import CHATS, Collections, vocabulary_key
from specchat_engine.gguf import read_model
from specchat_engine.stores import Suffixes
from support.tiny_models import TinyModels, write_tiny_model


def tokenize(text: str) -> Sequence[int]:
    return list(text.encode())


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / ".git").mkdir(parents=True)
    (folder / "a.txt").write_text("one two three")
    (folder / "b.py").write_text("def four(): pass")
    (folder / "picture").write_bytes(b"\0\1\2")
    (folder / ".git" / "config").write_text("hidden")
    return folder


def found_in(path: Path | None, text: str) -> int:
    """How many tokens of a text's end are in an index."""
    assert path is not None
    index = Suffixes(path)
    places = index.find(tokenize(text), 1)
    index.close()
    return places.length if places else 0


def test_a_folder_is_indexed_without_hidden_files(texts: Path) -> None:
    collections = Collections()
    collections.add("mine", [str(texts)])
    assert collections.get("mine").index("key") is None
    made = collections.update("mine", "key", tokenize)
    assert made.made["key"].tokens == len("one two three") + len("def four(): pass") + 2
    assert found_in(made.index("key"), "say two thr") == len(" two thr")
    assert found_in(made.index("key"), "zzhidden") < 3


def test_only_what_changed_is_indexed_again(texts: Path) -> None:
    collections, read = Collections(), []
    collections.add("mine", [str(texts)])

    def reading(text: str) -> Sequence[int]:
        read.append(text)
        return tokenize(text)

    collections.update("mine", "key", reading)
    collections.update("mine", "key", reading)
    assert len(read) == 2
    (texts / "a.txt").write_text("something else entirely")
    made = collections.update("mine", "key", reading)
    assert found_in(made.index("key"), "else ent") == 8
    assert found_in(made.index("key"), "one two") < 7
    collections.update("mine", "other key", reading)
    assert {*collections.get("mine").made} == {"key", "other key"}


def test_past_chats_are_a_source(chats: Collections) -> None:
    made = chats.update(CHATS, "key", tokenize)
    assert found_in(made.index("key"), "In France, of") == len("In France, of")


def test_bad_names_and_missing_sources_are_one_line(texts: Path) -> None:
    collections = Collections()
    with pytest.raises(LibraryError, match=r"'\.\./x' cannot name a store: use letters, digits"):
        collections.add("../x", [str(texts)])
    with pytest.raises(LibraryError, match="does not exist: name a text file, a folder, or chats"):
        collections.add("mine", [str(texts / "gone")])
    with pytest.raises(LibraryError, match="there is no store 'mine': add one with `specchat store add`"):
        collections.remove("mine")
    assert collections.all() == []


def test_a_damaged_description_is_left_out_and_can_be_made_again(texts: Path) -> None:
    collections = Collections()
    folder = collections.add("mine", [str(texts)]).folder
    for broken in ("", "{", "[]", '{"schema": 7}', '{"schema": 1, "sources": 3, "on": 1, "made": {"a": 1}}'):
        (folder / "collection.json").write_text(broken)
        assert collections.all() == []
    collections.add("mine", [str(texts)])
    assert [one.name for one in collections.all()] == ["mine"]


def test_a_kill_while_indexing_leaves_the_old_index_and_no_lock(texts: Path) -> None:
    collections = Collections()
    collections.add("mine", [str(texts)])
    collections.update("mine", "key", tokenize)
    (texts / "c.txt").write_text("later words")
    script = (
        "import os, signal\nfrom specchat.texts import Collections\n"
        "Collections().update('mine', 'key', lambda text: os.kill(os.getpid(), signal.SIGKILL))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert found_in(collections.get("mine").index("key"), "two three") == len("two three")
    made = collections.update("mine", "key", tokenize)
    assert found_in(made.index("key"), "later words") == len("later words")
    assert [path.name for path in made.folder.glob(".*")] == []


def test_the_commands_make_list_switch_and_delete_a_store(
    texts: Path,
    tiny_models: TinyModels,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    target = str(tiny_models.target)
    assert main(["store", "ls"]) == 0
    assert "there is no store yet" in capsys.readouterr().err
    assert main(["store", "add", str(texts), "-m", target]) == 0
    assert "texts: " in capsys.readouterr().err
    assert main(["store", "ls"]) == 0
    name, used, *_ = capsys.readouterr().out.split("\t")
    assert (name, used) == ("texts", "on")
    header = read_model(tiny_models.target)
    assert [*(Collections().indexes(header) or ())] == ["texts"]
    other = read_model(write_tiny_model(tmp_path / "other.gguf", vocabulary=[*map(str, range(261))]))
    assert vocabulary_key(other) != vocabulary_key(header)
    assert Collections().indexes(other) == {}
    words = ["run", "one two", "-m", target, "-t", "1", "-n", "8", "-s", "1", "--drafter", "store", "-k", "4", "--json"]
    assert main(words) == 0
    assert '"drafter":"store"' in capsys.readouterr().out.replace(" ", "")
    assert main(["store", "off", "texts"]) == 0
    assert Collections().indexes(header) is None
    assert main(["store", "rm", "texts"]) == 0
    assert main(["store", "rm", "texts"]) != 0
    assert "there is no store 'texts'" in capsys.readouterr().err


def test_hits_add_up_and_never_wait_for_a_writer(texts: Path) -> None:
    collections = Collections()
    collections.add("mine", [str(texts)])
    assert collections.get("mine").hits == 0
    collections.count({"mine": 3, "gone": 9})
    collections.count({"mine": 4})
    assert collections.get("mine").hits == 7

    def counting(text: str) -> Sequence[int]:
        collections.count({"mine": 1})
        return tokenize(text)

    collections.update("mine", "key", counting)
    assert "mine on, 31 tokens, 9 hits" in collections.summary()
    (collections.get("mine").folder / "hits").write_text("many")
    assert collections.get("mine").hits == 0
