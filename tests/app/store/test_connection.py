"""Opening the file: what is made, what is refused and left alone, and what one connection sees of another."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from specchat.errors import StoreUnavailable
from specchat.settings import paths
from specchat.store import Store
from specchat.store.schema import STEPS, migrate, version_of
from support.stored import begun, finish, other_process, said


def refused(path: Path, *, read_only: bool = False) -> str:
    """The one line of the error, with the file untouched."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreUnavailable) as caught:
        Store.open(path, read_only=read_only, busy_seconds=0.1)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_the_file_lies_in_the_data_folder_and_only_its_owner_can_read_it(isolated_machine: Path) -> None:
    path = paths.sessions_db()
    assert path.is_relative_to(isolated_machine)
    assert path.parent == paths.data_folder()
    with Store.open(path) as store:
        begun(store)
        for made in (path, *path.parent.glob("sessions.db-*")):
            assert not stat.S_IMODE(made.stat().st_mode) & 0o077, made


def test_nothing_but_the_database_is_left_when_it_is_closed(store: Store, path: Path) -> None:
    begun(store)
    store.close()
    assert [made.name for made in path.parent.rglob("*") if made.is_file()] == ["sessions.db"]


@pytest.mark.parametrize(
    "content", [b"not a database, but a text that somebody put there\n" * 40, b"short", b"\0" * 9000]
)
@pytest.mark.parametrize("read_only", [False, True])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes, read_only: bool) -> None:
    path = tmp_path / "sessions.db"
    path.write_bytes(content)
    assert "it is not a database" in refused(path, read_only=read_only)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (id)")
    other.close()
    assert "another program" in refused(path)


def test_a_newer_format_is_refused(path: Path) -> None:
    Store.open(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    raw.close()
    for read_only in (False, True):
        assert f"has format 99 and this specchat knows {len(STEPS)}: update" in refused(path, read_only=read_only)


def test_a_damaged_database_is_named_and_left_alone(store: Store, path: Path) -> None:
    for number in range(200):
        said(store, begun(store, f"session {number}"), "words " * 50)
    store.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    assert "damaged" in refused(path)


def test_a_folder_in_the_place_of_the_file_and_the_other_way_round_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.mkdir()
    assert "opened" in refused(path)
    (tmp_path / "data").write_text("")
    assert "cannot be opened" in refused(tmp_path / "data" / "sessions.db")


def test_reading_makes_nothing(path: Path) -> None:
    assert "no such file" in refused(path, read_only=True)
    assert not path.parent.exists()


def test_what_is_opened_to_read_cannot_be_written(store: Store, path: Path) -> None:
    begun(store)
    with Store.open(path, read_only=True) as reader:
        assert len(reader.sessions()) == 1
        with pytest.raises(StoreUnavailable, match="read-only"):
            begun(reader)


_AS_NOBODY = """
import os, sys
from pathlib import Path
from specchat.errors import StoreUnavailable
from specchat.store import Store
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
path = Path(sys.argv[1])
with Store.open(path, read_only=True) as store:
    print([session.title for session in store.sessions()])
try:
    Store.open(path)
except StoreUnavailable as error:
    print(error)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder outside those of the user, which a process without rights can enter."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_can_still_be_read(open_folder: Path) -> None:
    path = open_folder / "sessions.db"
    with Store.open(path) as store:
        begun(store, "kept")
    shutil.rmtree(open_folder / "sessions.db-writers")
    path.chmod(0o444)
    open_folder.chmod(0o555)
    command = [sys.executable, "-c", _AS_NOBODY, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    listed, refusal = done.stdout.splitlines()
    assert listed == "['kept']"
    assert "writable" in refusal


def test_several_applications_may_make_the_file_at_the_same_moment(path: Path) -> None:
    with ExitStack() as started:
        together = [started.enter_context(other_process("open", path)) for _ in range(3)]
        for process in together:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in together:
            finish(process)
    with Store.open(path) as store:
        assert store.num_sessions() == len(together)


def test_writing_in_two_applications_loses_nothing(path: Path) -> None:
    with Store.open(path, busy_seconds=600) as store:
        session = begun(store)
        with other_process("write", path, session) as other:
            mine = None
            for number in range(60):
                mine = said(store, session, f"message {number} of mine", mine)
            finish(other)
        messages = store.messages(session)
        found = store.session(session)
        assert found is not None
        assert found.num_messages == len(messages) == 120
        assert found.head in {message.id for message in messages}
        for whose in ("mine", "the other"):
            contents = [message.content for message in messages if message.content.endswith(whose)]
            assert contents == [f"message {number} of {whose}" for number in range(60)]
        assert len(store.search('"message 59"')) == 1


def test_a_change_by_another_application_is_noticed_once_and_ones_own_is_not(store: Store, path: Path) -> None:
    begun(store)
    assert not store.changed_elsewhere()
    with Store.open(path) as other:
        assert not store.changed_elsewhere()
        begun(other)
        assert store.changed_elsewhere()
        assert not store.changed_elsewhere()
        assert not other.changed_elsewhere()


def test_an_older_format_is_brought_up_to_date_in_order_and_keeps_what_it_holds(store: Store, path: Path) -> None:
    session = begun(store, "kept")
    later = (("ALTER TABLE sessions ADD COLUMN folder TEXT",), ("UPDATE sessions SET folder = 'inbox'",))
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, (*STEPS, *later))
    assert version_of(connection) == len(STEPS) + 2
    assert connection.execute("SELECT id, title, folder FROM sessions").fetchall() == [(session, "kept", "inbox")]
    migrate(connection, (*STEPS, *later))
    connection.close()


def test_conversations_from_before_tools_and_tags_are_read_as_they_were(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, STEPS[:1])
    connection.execute("INSERT INTO sessions (id, title, created, updated) VALUES (1, 'old', 1, 1)")
    connection.execute(
        "INSERT INTO messages (id, session, role, created, state, attempt, content)"
        " VALUES (2, 1, 'user', 1, 'whole', 0, 'Why?')"
    )
    connection.close()
    with Store.open(path) as store:
        (message,) = store.messages(1)
        assert (message.content, message.tools, message.images) == ("Why?", None, ())
        assert [(session.title, session.tags) for session in store.sessions()] == [("old", ())]
        store.set_tags(1, ["work"])
        assert store.sessions()[0].tags == ("work",)


def test_a_step_that_fails_leaves_the_format_as_it_was(store: Store, path: Path) -> None:
    begun(store, "kept")
    connection = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (*STEPS, ("ALTER TABLE sessions RENAME TO talks", "CREATE TABLE talks (id)")))
    assert version_of(connection) == len(STEPS)
    connection.close()
    assert [session.title for session in store.sessions()] == ["kept"]


def test_the_store_survives_a_change_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(Path("here.db")) as store:
        monkeypatch.chdir("/")
        begun(store)
        answer = said(store, begun(store), "")
        store.update_message(answer, content="x")
    assert (tmp_path / "here.db").exists()
    assert [*(tmp_path / "here.db-writers").iterdir()] == []
