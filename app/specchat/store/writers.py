"""Which applications that write to a database are alive. Each holds a lock on its own file next to the database.

The system releases a lock when its process ends in any way, and keeps it while the process is suspended. That is more
reliable than a time stamp and needs no regular writes.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from specchat.store.records import new_id


def writers_folder(database: Path) -> Path:
    """The folder with the lock files of a database's writers."""
    return database.with_name(f"{database.name}-writers")


class Writer:
    """This application's lock. `id` marks the answers that it is writing."""

    def __init__(self, database: Path) -> None:
        """Takes a new lock. Raises OSError if the folder cannot be written."""
        self.id = new_id()
        self._path = _file(writers_folder(database), self.id)
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        while True:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            if self._is_in_place():
                return
            os.close(self._descriptor)

    def release(self) -> None:
        """Releases the lock. Answers still marked as being written then count as cut."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        """True if the path still leads to this file. Another process may have removed it before it was locked."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False


def is_alive(database: Path, writer: int) -> bool:
    """True if an application holds this lock, or if that cannot be determined."""
    return _is_locked(_file(writers_folder(database), writer))


def sweep(database: Path) -> None:
    """Removes the lock files of applications that ended without doing so themselves."""
    with suppress(OSError):
        for path in writers_folder(database).iterdir():
            _is_locked(path, remove_if_not=True)


def _is_locked(path: Path, *, remove_if_not: bool = False) -> bool:
    """True if another process holds the lock, or if that cannot be determined."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # A shared lock, so that two processes that ask at the same time do not take each other for the owner. It is
        # held while the file is removed, so that an owner who waits for it sees that the file is gone.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if remove_if_not:
            path.unlink(missing_ok=True)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def _file(folder: Path, writer: int) -> Path:
    return folder / f"{writer:016x}"
