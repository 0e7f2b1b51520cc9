"""A crash in mid-answer keeps what had arrived, and nobody marks an answer that is still being written."""

from __future__ import annotations

import fcntl
import signal
from pathlib import Path

import pytest

from specchat.store import State, Store
from specchat.store.writers import Writer, is_alive, sweep, writers_folder
from support.stored import begun, finish, other_process, said


def states(store: Store, session: int) -> list[tuple[str, State]]:
    return [(message.content, message.state) for message in store.messages(session)]


def test_an_answer_of_a_killed_application_is_kept_and_marked_as_cut(store: Store, path: Path) -> None:
    session = begun(store)
    with other_process("stream", path, session) as other:
        other.send_signal(signal.SIGKILL)
        other.wait(timeout=600)
        assert states(store, session) == [("half an answer", State.STREAMING)]
        with Store.open(path) as next_start:
            assert states(next_start, session) == [("half an answer", State.CUT)]
            assert [hit.session.id for hit in next_start.search("half")] == [session]
            assert next_start.recover() == 0


def test_an_answer_that_another_application_is_writing_is_left_alone(store: Store, path: Path) -> None:
    session = begun(store)
    mine = said(store, session, "my own", role="assistant", state=State.STREAMING)
    with other_process("stream", path, session) as alive, other_process("stream", path, session) as killed:
        killed.send_signal(signal.SIGKILL)
        killed.wait(timeout=600)
        with Store.open(path) as third:
            assert third.recover() == 0
            assert sorted(states(third, session)) == [
                ("half an answer", State.CUT),
                ("half an answer", State.STREAMING),
                ("my own", State.STREAMING),
            ]
        assert store.recover() == 0
        finish(alive)
    store.update_message(mine, state=State.WHOLE)
    assert sorted(states(store, session)) == [
        ("a whole answer", State.WHOLE),
        ("half an answer", State.CUT),
        ("my own", State.WHOLE),
    ]


def test_a_suspended_application_lives_and_a_crash_is_noticed_while_another_application_stays_open(
    store: Store, path: Path
) -> None:
    session = begun(store)
    with other_process("stream", path, session) as other:
        other.send_signal(signal.SIGSTOP)
        assert store.recover() == 0
        other.send_signal(signal.SIGCONT)
        assert store.recover() == 0
        other.kill()
        other.wait(timeout=600)
    assert store.recover() == 1
    assert states(store, session) == [("half an answer", State.CUT)]


def test_an_application_that_closes_without_ending_its_answer_has_cut_it(store: Store, path: Path) -> None:
    session = begun(store)
    with Store.open(path) as other:
        said(other, session, "half", role="assistant", state=State.STREAMING)
        assert store.recover() == 0
    assert store.recover() == 1


def test_a_copied_database_knows_no_writer(store: Store, path: Path, tmp_path: Path) -> None:
    session = begun(store)
    said(store, session, "half", role="assistant", state=State.STREAMING)
    store._connection.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    with Store.open(tmp_path / "copy.db") as copy:
        assert states(copy, session) == [("half", State.CUT)]
    assert states(store, session) == [("half", State.STREAMING)]


def test_an_answer_marked_too_early_is_taken_back_by_who_writes_it(store: Store) -> None:
    session = begun(store)
    answer = said(store, session, "half", role="assistant", state=State.CUT)
    store.update_message(answer, content="more", state=State.STREAMING)
    assert store.recover() == 0
    assert states(store, session) == [("more", State.STREAMING)]


def test_files_of_dead_writers_are_swept_away_and_those_of_the_living_stay(store: Store, path: Path) -> None:
    session = begun(store)
    living = Writer(path)
    with other_process("stream", path, session) as other:
        other.kill()
        other.wait(timeout=600)
    assert len([*writers_folder(path).iterdir()]) == 3
    sweep(path)
    assert len([*writers_folder(path).iterdir()]) == 2
    assert is_alive(path, living.id)
    living.release()
    assert not is_alive(path, living.id)
    assert store.recover() == 1


def test_a_writer_whose_file_is_swept_before_it_is_locked_makes_another(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir(parents=True)
    flock = fcntl.flock
    swept: list[Path] = []

    def swept_first(descriptor: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not swept:
            swept.extend(writers_folder(path).iterdir())
            sweep(path)
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", swept_first)
    writer = Writer(path)
    assert swept
    assert is_alive(path, writer.id)
    writer.release()
