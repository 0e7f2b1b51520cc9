"""Stored conversations, and a second process that uses the same file: `python stored.py WHAT FILE [ID]`."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specchat.store import State, Store, StoredMessage, StoredSession, new_id

NUM_WRITES = 60


def begun(store: Store, title: str = "", created: float = 1.0) -> int:
    """Creates a session and returns its id."""
    session = new_id()
    store.create(StoredSession(session, title, created))
    return session


def said(
    store: Store,
    session: int,
    content: str,
    parent: int | None = None,
    *,
    role: str = "user",
    state: State = State.WHOLE,
    created: float = 2.0,
) -> int:
    """Adds a message and returns its id."""
    message = new_id()
    store.add_message(StoredMessage(message, session, parent, role, content, created, state))
    return message


@contextmanager
def other_process(what: str, path: Path, session: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A process that does `what`, once it has reported that it began. A line on its standard input ends it."""
    command = [sys.executable, __file__, what, str(path), str(session)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "begun\n"
            yield process
        finally:
            process.kill()


def finish(process: subprocess.Popen[str]) -> None:
    """Lets a process finish and waits for it."""
    process.communicate("end\n", timeout=600)
    assert process.returncode == 0


def _stream(path: Path, session: int) -> None:
    """Writes half an answer and waits."""
    with Store.open(path) as store:
        answer = said(store, session, "", role="assistant", state=State.STREAMING)
        store.update_message(answer, content="half an answer", state=State.STREAMING)
        _wait()
        store.update_message(answer, content="a whole answer", state=State.WHOLE)


def _write(path: Path, session: int) -> None:
    """Adds many messages to one session, each a reply to the one before."""
    with Store.open(path, busy_seconds=60) as store:
        parent = None
        _say_begun()
        for number in range(NUM_WRITES):
            parent = said(store, session, f"message {number} of the other", parent)
        sys.stdin.readline()


def _open(path: Path, session: int) -> None:
    """Opens a new file at the same moment as others."""
    _wait()
    with Store.open(path, busy_seconds=60) as store:
        begun(store, "of one of many")


def _lock(path: Path, session: int) -> None:
    """Locks the file against writing."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    _wait()
    connection.execute("ROLLBACK")
    connection.close()


def _say_begun() -> None:
    sys.stdout.write("begun\n")
    sys.stdout.flush()


def _wait() -> None:
    _say_begun()
    sys.stdin.readline()


if __name__ == "__main__":
    _, wanted, file, number = sys.argv
    {"stream": _stream, "write": _write, "open": _open, "lock": _lock}[wanted](Path(file), int(number))
