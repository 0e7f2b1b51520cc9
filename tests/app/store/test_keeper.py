"""The keeper writes in order, in its own thread, and loses nothing while it cannot write."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import pytest

from specchat.errors import StoreError, StoreUnavailable
from specchat.store import Keeper, State, Store, StoredMessage, StoredSession, keeper, new_id
from support.stored import begun, other_process, said

LONG = 600.0


class Troubles(SimpleQueue[str | None]):
    """What the keeper reported about its trouble."""

    def next(self) -> str | None:
        return self.get(timeout=LONG)

    def next_trouble(self, words: str) -> str:
        """The next report, which has to be a trouble in these words."""
        trouble = self.next()
        assert trouble is not None
        assert words in trouble
        return trouble


@pytest.fixture
def troubles() -> Troubles:
    return Troubles()


@pytest.fixture
def open_keeper(path: Path, troubles: Troubles) -> Iterator[Callable[[], Keeper]]:
    kept: list[Keeper] = []

    def opened() -> Keeper:
        kept.append(Keeper(path, troubles.put, retry_seconds=0.02, busy_seconds=0.05))
        return kept[-1]

    yield opened
    for one in kept:
        one.close(0.2)


def titles(path: Path) -> list[str]:
    with Store.open(path, read_only=True) as store:
        return [session.title for session in store.sessions(10_000)][::-1]


def long_messages(session: int) -> list[StoredMessage]:
    """Forty messages, each of which replies to the one before."""
    made: list[StoredMessage] = []
    for number in range(40):
        parent = made[-1].id if made else None
        made.append(StoredMessage(new_id(), session, parent, "user", f"message {number} " * 200))
    return made


def create(keeper: Keeper, title: str, at: float, **how: bool) -> None:
    session = StoredSession(new_id(), title, created=at)
    keeper.do(lambda store: store.create(session), **how)


def test_work_is_done_in_order_in_a_thread_of_its_own(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    threads = keeper.do(lambda _: threading.get_ident())
    for number in range(50):
        create(keeper, str(number), float(number))
    assert keeper.close(LONG)
    assert threads.result() != threading.get_ident()
    assert titles(path) == [str(number) for number in range(50)]
    assert troubles.empty()


def test_results_and_readings_come_back(open_keeper: Callable[[], Keeper]) -> None:
    keeper = open_keeper()
    session = new_id()
    assert keeper.read(lambda store: store.num_sessions()).result(LONG) == 0
    keeper.do(lambda store: store.create(StoredSession(session, "walrus")))
    assert keeper.do(lambda store: store.num_sessions()).result(LONG) == 1
    assert [hit.session.id for hit in keeper.read(lambda store: store.search("wal")).result(LONG)] == [session]


def test_what_is_read_cannot_write(open_keeper: Callable[[], Keeper], troubles: Troubles) -> None:
    with pytest.raises(StoreUnavailable, match="read-only"):
        open_keeper().read(begun).result(LONG)
    assert troubles.empty()


def test_wrong_work_fails_alone_and_leaves_nothing_behind(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()

    def half_wrong(store: Store) -> None:
        begun(store, "half")
        said(store, new_id(), "nowhere")

    wrong = keeper.do(half_wrong)
    broken = keeper.do(lambda _: 1 // 0)
    create(keeper, "right", 1.0)
    assert keeper.close(LONG)
    assert isinstance(wrong.exception(), StoreError)
    assert isinstance(broken.exception(), ZeroDivisionError)
    assert titles(path) == ["right"]
    assert troubles.empty()


def test_a_locked_database_delays_and_is_reported_once(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    keeper.do(lambda store: begun(store, "before", 0.0)).result(LONG)
    with other_process("lock", path) as other:
        create(keeper, "one", 1.0)
        trouble = troubles.next_trouble("locked")
        assert keeper.trouble == trouble
        for number in range(2, 30):
            create(keeper, str(number), float(number))
        assert keeper.read(lambda store: store.num_sessions()).result(LONG) == 1
        time.sleep(0.3)
        assert troubles.empty()
        other.communicate("end\n", timeout=LONG)
        assert troubles.next() is None
    assert keeper.trouble is None
    assert keeper.close(LONG)
    assert titles(path) == ["before", "one", *map(str, range(2, 30))]
    assert troubles.empty()


def test_a_full_database_file_delays_and_loses_nothing(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    session = new_id()
    keeper.do(lambda store: store.create(StoredSession(session)))
    full = [True]

    def limited(store: Store, message: StoredMessage) -> None:
        """A limit belongs to a connection: each work sets the one that is true by then."""
        store._run(f"PRAGMA max_page_count = {1 if full else 2**30}")
        store.add_message(message)

    for message in long_messages(session):
        keeper.do(lambda store, message=message: limited(store, message))
    troubles.next_trouble("the disk is full")
    assert troubles.empty()
    full.clear()
    assert troubles.next() is None
    assert keeper.close(LONG)
    with Store.open(path, read_only=True) as store:
        contents = [message.content.split()[1] for message in store.messages(session)]
    assert contents == [str(number) for number in range(40)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 16 MiB, where this user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Takes all the space that is left; the file that has it."""
    filler = disk / "filler"
    descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while os.write(descriptor, b"x" * 4096):
            pass
    os.close(descriptor)
    return filler


def test_a_full_disk_delays_and_loses_nothing_once_there_is_space(small_disk: Path, troubles: Troubles) -> None:
    path = small_disk / "data" / "sessions.db"
    keeper = Keeper(path, troubles.put, retry_seconds=0.02, busy_seconds=0.05)
    session = new_id()
    keeper.do(lambda store: store.create(StoredSession(session))).result(LONG)
    filler = fill(small_disk)
    for message in long_messages(session):
        keeper.do(lambda store, message=message: store.add_message(message))
    troubles.next_trouble("the disk is full")
    filler.unlink()
    while troubles.next() is not None:
        pass  # it may have tried once more meanwhile
    assert keeper.close(LONG)
    assert troubles.empty()
    with Store.open(path) as store:
        contents = [message.content.split()[1] for message in store.messages(session)]
        assert contents == [str(number) for number in range(40)]
        assert store._rows("PRAGMA integrity_check").__next__() == ("ok",)


def test_a_disk_that_is_full_at_the_start_is_reported_and_waited_for(small_disk: Path, troubles: Troubles) -> None:
    filler = fill(small_disk)
    path = small_disk / "data" / "sessions.db"
    keeper = Keeper(path, troubles.put, retry_seconds=0.02, busy_seconds=0.05)
    create(keeper, "kept", 1.0)
    assert troubles.next() is not None
    with pytest.raises(StoreUnavailable):
        keeper.read(lambda store: store.sessions()).result(LONG)
    filler.unlink()
    assert troubles.next() is None
    assert len(keeper.read(lambda store: store.sessions()).result(LONG)) <= 1
    assert keeper.close(LONG)
    assert titles(path) == ["kept"]


def test_a_file_that_is_no_database_is_reported_and_saving_begins_when_it_is_moved_away(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    path.parent.mkdir()
    path.write_text("precious notes of somebody\n" * 100)
    keeper = open_keeper()
    create(keeper, "kept", 1.0)
    troubles.next_trouble("not a database")
    path.rename(path.with_name("notes"))
    assert troubles.next() is None
    assert keeper.close(LONG)
    assert titles(path) == ["kept"]
    assert path.with_name("notes").read_text().startswith("precious")


def test_the_text_of_an_answer_so_far_waits_only_once(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    session = keeper.do(begun).result(LONG)
    answer = keeper.do(lambda store: said(store, session, "", state=State.STREAMING)).result(LONG)
    with other_process("lock", path) as other:
        first = keeper.do(lambda store: store.update_message(answer, content="0"), instead_of=answer)
        assert troubles.next() is not None
        updates = [
            keeper.do(lambda store, n=n: store.update_message(answer, content=str(n)), instead_of=answer)
            for n in range(1, 2000)
        ]
        create(keeper, "behind", 9.0)
        assert len(keeper._waiting) <= 3
        other.communicate("end\n", timeout=LONG)
    assert keeper.close(LONG)
    assert updates[-1].result(LONG) is None
    # One that was being tried just when the lock went may still have been written.
    assert sum(not one.cancelled() for one in (first, *updates[:-1])) <= 1
    with Store.open(path, read_only=True) as store:
        assert [message.content for message in store.messages(session)] == ["1999"]


def test_memory_has_an_end_and_traces_are_given_up_first(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "MOST_WAITING", 20)
    monkeypatch.setattr(keeper, "MOST_SPARE_WAITING", 4)
    opened = open_keeper()
    opened.do(begun).result(LONG)
    with other_process("lock", path) as other:
        create(opened, "held", 0.5)
        assert troubles.next() is not None
        spares = [opened.do(begun, spare=True) for _ in range(10)]
        assert [one.cancelled() for one in spares] == [True] * 6 + [False] * 4
        kept = [opened.do(lambda store, n=n: begun(store, "kept", float(n))) for n in range(1, 30)]
        assert all(one.cancelled() for one in spares)
        refused = [one for one in kept if one.done()]
        assert refused == kept[-len(refused) :]
        assert len(refused) == 29 - 19
        assert all(isinstance(one.exception(), StoreUnavailable) for one in refused)
        other.communicate("end\n", timeout=LONG)
    assert opened.close(LONG)
    assert titles(path).count("kept") == 29 - len(refused)


def test_closing_ends_in_time_and_says_what_was_not_written(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    keeper.do(begun).result(LONG)
    with other_process("lock", path):
        waiting = [keeper.do(begun) for _ in range(3)]
        assert troubles.next() is not None
        assert not keeper.close(0.3)
        for one in waiting:
            with pytest.raises(CancelledError):
                one.result(LONG)
    for late in (keeper.do(begun), keeper.read(lambda store: store.sessions())):
        assert isinstance(late.exception(LONG), StoreError)
    assert len(titles(path)) == 1


def test_what_the_writing_thread_gave_up_before_closing_looked_was_not_written(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, join = open_keeper(), threading.Thread.join
    keeper.do(begun).result(LONG)
    with other_process("lock", path):
        keeper.do(begun)
        assert troubles.next() is not None
        monkeypatch.setattr(threading.Thread, "join", lambda thread, _seconds: join(thread, LONG))
        assert not keeper.close(0.3)


def test_closing_waits_for_a_lock_that_goes_away(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    keeper.do(begun).result(LONG)
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN EXCLUSIVE")
    keeper.do(begun)
    assert troubles.next() is not None
    release = threading.Timer(0.3, lambda: connection.execute("ROLLBACK"))
    release.start()
    assert keeper.close(LONG)
    release.join()
    connection.close()
    assert len(titles(path)) == 2


def test_the_callback_may_fail_without_harm(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("no database, but long enough to look like a file of somebody\n" * 20)

    def gone(trouble: str | None) -> None:
        raise RuntimeError("the screen is gone")

    keeper = Keeper(path, gone, retry_seconds=0.02)
    created = keeper.do(begun)
    while keeper.trouble is None:
        time.sleep(0.01)
    path.unlink()
    created.result(LONG)
    assert keeper.close(LONG)


def test_an_answer_that_streams_stays_the_keepers_own_behind_trouble(
    open_keeper: Callable[[], Keeper], path: Path, troubles: Troubles
) -> None:
    keeper = open_keeper()
    session = keeper.do(begun).result(LONG)
    answer = keeper.do(lambda store: said(store, session, "a", state=State.STREAMING)).result(LONG)
    with other_process("lock", path) as other:
        keeper.do(lambda store: store.update_message(answer, content="b", state=State.STREAMING))
        assert troubles.next() is not None
        other.communicate("end\n", timeout=LONG)
    assert troubles.next() is None
    with Store.open(path) as another:
        assert [message.state for message in another.messages(session)] == [State.STREAMING]
