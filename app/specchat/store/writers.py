"""Which applications are alive that write to a database: each holds a lock on a file of its own beside it.

The system lets go of a lock when its process ends, however it ends, and keeps it while the process is only suspended.
So a lock tells more than the time of a last sign of life would, and costs no writing.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from specchat.store.records import new_id


def writers_folder(database: Path) -> Path:
    """Where the lock files of a database's writers lie."""
    return database.with_name(f"{database.name}-writers")


class Writer:
    """This application's lock; `id` marks the answers that it is writing."""

    def __init__(self, database: Path) -> None:
        """Takes a new lock. Raises OSError where the folder cannot be written."""
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
        """Ends the lock: what is still marked as being written counts as cut."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        """Whether that name is still this file's: another may have swept it away before it was locked."""
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False


def is_alive(database: Path, writer: int) -> bool:
    """Whether an application holds this lock; in doubt it does."""
    return _is_locked(_file(writers_folder(database), writer))


def sweep(database: Path) -> None:
    """Removes the files of applications that ended without doing so themselves."""
    with suppress(OSError):
        for path in writers_folder(database).iterdir():
            _is_locked(path, remove_if_not=True)


def _is_locked(path: Path, *, remove_if_not: bool = False) -> bool:
    """Whether another holds the lock; in doubt it does."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        # Shared, so that two that ask at the same moment do not take each other for the owner; and held while the file
        # is removed, so that an owner who waits for it sees that it is gone.
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
