"""One connection to the database: how it is opened, what a failure is called, and several writes as one."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from specchat.errors import StoreError, StoreUnavailable
from specchat.store.schema import APPLICATION_ID, STEPS, migrate, version_of
from specchat.store.writers import Writer, sweep

Values = Sequence[Any]

_ELSEWHERE = "or move it away, and specchat starts a new one"

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_BUSY: "another program has it locked: wait for it, or end it",
    sqlite3.SQLITE_LOCKED: "another program has it locked: wait for it, or end it",
    sqlite3.SQLITE_READONLY: "it is read-only: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "there is no permission: make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: make the file and its folder readable and writable",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write: look at the disk and its free space",
    sqlite3.SQLITE_CORRUPT: f"it is damaged: repair it with `sqlite3 FILE .recover`, {_ELSEWHERE}",
    sqlite3.SQLITE_NOTADB: f"it is not a database: put the right file there, {_ELSEWHERE}",
}

_PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Database:
    """A connection and what the parts of the store share. Use it in the thread that opened it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, writer: Writer | None) -> None:
        self.path = path
        self._connection = connection
        self._writer = writer
        self._seen = self._data_version()

    @classmethod
    def open(cls, path: Path, *, busy_seconds: float = 5.0, read_only: bool = False) -> Self:
        """The database in this file, made where there is none.

        A lock of another program is waited for up to `busy_seconds`, here and later. Opened read-only, nothing is made
        or changed, and the file may lie in a folder that cannot be written.

        Raises StoreUnavailable, in one line, for a file that is not specchat's, newer, damaged or out of reach. It is
        never removed or replaced.
        """
        path = path.absolute()
        try:
            connection = _connect_to_read(path, busy_seconds) if read_only else _connect(path, busy_seconds)
        except sqlite3.Error as error:
            raise _explained(error, path) from error
        except OSError as error:
            raise StoreUnavailable(
                f"{path} cannot be opened: {error.strerror or error}; make its folder writable"
            ) from error
        writer: Writer | None = None
        try:
            if not read_only:
                sweep(path)
                writer = Writer(path)
            return cls(connection, path, writer)
        except OSError as error:
            connection.close()
            raise StoreUnavailable(
                f"{path} cannot be written: {error.strerror or error}; make its folder writable"
            ) from error
        except BaseException:
            connection.close()
            if writer is not None:
                writer.release()
            raise

    def close(self) -> None:
        """Lets go of the file; nothing else can be done then."""
        with suppress(sqlite3.Error):
            self._connection.close()
        if self._writer is not None:
            self._writer.release()
            self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """All writes inside are done, or none of them: an exception takes back those before it.

        Raises StoreUnavailable where they cannot be done at present.
        """
        if self._connection.in_transaction:
            yield
            return
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self._take_back()
            raise

    def changed_elsewhere(self) -> bool:
        """Whether anything was written through another connection, in this application or another, since last asked."""
        before, self._seen = self._seen, self._data_version()
        return before != self._seen

    def _run(self, statement: str, values: Values = ()) -> int:
        """Executes one statement and returns how many rows it changed."""
        try:
            return self._connection.execute(statement, values).rowcount
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    def _take_back(self) -> None:
        """Ends a transaction without its writes; some failures, a full disk among them, have done that already."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _change(self, what: str, statement: str, values: Values) -> None:
        """Executes a statement that has to change a row, inside `together`. Raises StoreError where there is none."""
        with self.together():
            if not self._run(statement, values):
                raise StoreError(f"there is no such {what} in {self.path}: it was deleted for good; start a new one")

    def _rows(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, read as they are asked for."""
        try:
            yield from self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    def _first(self, statement: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row of a query; None where there is none."""
        return next(iter([*self._rows(statement, values)]), None)

    def _data_version(self) -> int:
        row = self._first("PRAGMA data_version")
        return int(row[0]) if row else 0


def may_go_on(error: StoreUnavailable) -> bool:
    """Whether the connection that failed can be used again as it is, once the disk has space or the lock is gone."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and _code(cause) in _PASSING


def _connect(path: Path, busy_seconds: float) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
    connection = _opened(path, "mode=rw", busy_seconds)
    try:
        _check_format(connection, path)
        _use_wal(connection, busy_seconds)
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_to_read(path: Path, busy_seconds: float) -> sqlite3.Connection:
    """A connection that never writes. In a folder that cannot be written nobody else does: the file stands still."""
    for how in ("mode=rw", "mode=ro", "mode=ro&immutable=1"):
        connection = _opened(path, how, busy_seconds) if path.exists() else None
        if connection is None:
            raise StoreUnavailable(f"{path} cannot be read: there is no such file; start specchat once to make it")
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            _check_format(connection, path)
            if version_of(connection) < len(STEPS):
                raise StoreUnavailable(f"{path} is of an older format: start specchat once to bring it up to date")
        except sqlite3.OperationalError as error:
            connection.close()
            if how.endswith("immutable=1") or _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("the last way of opening either returned or raised")


def _opened(path: Path, how: str, busy_seconds: float) -> sqlite3.Connection:
    where = f"file:{quote(str(path))}?{how}"
    return sqlite3.connect(where, uri=True, timeout=busy_seconds, isolation_level=None)


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreUnavailable for a database that another program or a newer specchat made."""
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID and connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        raise StoreUnavailable(f"{path} is a database of another program: put it elsewhere, {_ELSEWHERE}")
    if (found := version_of(connection)) > len(STEPS):
        raise StoreUnavailable(
            f"{path} has format {found} and this specchat knows {len(STEPS)}: update specchat, {_ELSEWHERE}"
        )


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Readers never wait for the writer then. Two that switch a new file at once may be told to try again."""
    until = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.01)
        else:
            return


def _code(error: sqlite3.Error) -> int:
    """The primary result code; 0 where the error is not SQLite's own."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    """What a failure is called in one line, and whether it may pass."""
    code = _code(error)
    if code in _REASONS:
        return StoreUnavailable(f"{path} cannot be used, {_REASONS[code]}")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreError(f"{path} has no such session or parent message, or has this one already ({error})")
    return StoreError(f"{path} refused what was asked of it: {error}")
