"""One connection to the database: opening it, naming failures in one line, and grouping writes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from specchat.errors import StoreError, StoreUnavailable
from specchat.store.schema import APPLICATION_ID, STEPS, migrate, version_of
from specchat.store.writers import Writer, sweep

Values = Sequence[Any]

_ELSEWHERE = "or move it away and let specchat start a new one"

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_BUSY: "another program has locked it: wait for that program or end it",
    sqlite3.SQLITE_LOCKED: "another program has locked it: wait for that program or end it",
    sqlite3.SQLITE_READONLY: "it is read-only: make the file and its folder writable",
    sqlite3.SQLITE_PERM: "permission is denied: make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: make the file and its folder readable and writable",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write: check the disk and its free space",
    sqlite3.SQLITE_CORRUPT: f"it is damaged: repair it with `sqlite3 FILE .recover`, {_ELSEWHERE}",
    sqlite3.SQLITE_NOTADB: f"it is not a database: put the right file there, {_ELSEWHERE}",
}

_TEMPORARY = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Database:
    """A connection, and what all parts of the store share. Use it only in the thread that opened it."""

    def __init__(self, connection: sqlite3.Connection, path: Path, writer: Writer | None) -> None:
        self.path = path
        self._connection = connection
        self._writer = writer
        self._seen = self._data_version()

    @classmethod
    def open(cls, path: Path, *, busy_seconds: float = 5.0, read_only: bool = False) -> Self:
        """Opens or creates the database. `Store.open` describes the parameters and the errors."""
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
        """Closes the file. The object cannot be used afterwards."""
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
        """Makes one transaction of all writes inside: an exception rolls all of them back.

        Raises StoreUnavailable if the file cannot be written at present.
        """
        if self._connection.in_transaction:
            yield
            return
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def changed_elsewhere(self) -> bool:
        """True if another connection, in this process or another, has written since the last call."""
        before, self._seen = self._seen, self._data_version()
        return before != self._seen

    def _run(self, statement: str, values: Values = ()) -> int:
        """Executes one statement. Returns the number of rows that it changed."""
        try:
            return self._connection.execute(statement, values).rowcount
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    def _roll_back(self) -> None:
        """Ends a transaction without its writes. Some failures, such as a full disk, have already done so."""
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")

    def _change(self, what: str, statement: str, values: Values) -> None:
        """Executes a statement that has to change a row. Raises StoreError if it changed none."""
        with self.together():
            if not self._run(statement, values):
                raise StoreError(f"there is no such {what} in {self.path}: it was deleted for good; start a new one")

    def _rows(self, statement: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, read one by one."""
        try:
            with closing(self._connection.execute(statement, values)) as cursor:
                yield from cursor
        except sqlite3.Error as error:
            raise _explained(error, self.path) from error

    def _first(self, statement: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        return next(iter([*self._rows(statement, values)]), None)

    def _data_version(self) -> int:
        row = self._first("PRAGMA data_version")
        return int(row[0]) if row else 0


def may_go_on(error: StoreUnavailable) -> bool:
    """True if the connection can be used again once the disk has space or the lock is released."""
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and _code(cause) in _TEMPORARY


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
    """A connection that never writes. If its folder is read-only, the file cannot change, so it is opened immutable."""
    for how in ("mode=rw", "mode=ro", "mode=ro&immutable=1"):
        connection = _opened(path, how, busy_seconds) if path.exists() else None
        if connection is None:
            raise StoreUnavailable(f"{path} cannot be read: there is no such file; start specchat once to make it")
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            _check_format(connection, path)
            if version_of(connection) < len(STEPS):
                raise StoreUnavailable(f"{path} has an older format: start specchat once to update it")
        except sqlite3.OperationalError as error:
            connection.close()
            if how.endswith("immutable=1") or _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise AssertionError("the last mode either returns or raises")


def _opened(path: Path, how: str, busy_seconds: float) -> sqlite3.Connection:
    where = f"file:{quote(str(path))}?{how}"
    connection = sqlite3.connect(where, uri=True, timeout=busy_seconds, isolation_level=None)
    connection.text_factory = lambda text: text.decode("utf-8", "replace")  # a damaged text costs only itself
    return connection


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreUnavailable if another program or a newer specchat made the database."""
    # In this order: another specchat may create the tables, with the application id, between the two reads.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if tables and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise StoreUnavailable(f"{path} belongs to another program: put it elsewhere, {_ELSEWHERE}")
    if (version := version_of(connection)) > len(STEPS):
        raise StoreUnavailable(
            f"{path} has format {version} and this specchat knows {len(STEPS)}: update specchat, {_ELSEWHERE}"
        )


def _use_wal(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Switches to WAL mode, in which readers never wait for the writer. Retries if another process does the same."""
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
    """SQLite's primary result code; 0 if the error has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    """The store's own error for a failure of SQLite, in one line."""
    code = _code(error)
    if code in _REASONS:
        return StoreUnavailable(f"{path} cannot be used, {_REASONS[code]}")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreError(f"{path} has no such session or parent message, or has this one already ({error})")
    return StoreError(f"{path} rejected the request: {error}")
