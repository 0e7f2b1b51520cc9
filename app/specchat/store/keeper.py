"""A thread that writes to the store, so that callers never wait for the disk."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from specchat.errors import StoreError, StoreUnavailable
from specchat.store.connection import may_go_on
from specchat.store.store import Store

T = TypeVar("T")

_log = logging.getLogger(__name__)

MOST_WAITING = 1000
"""The most writes that wait while the store cannot be used. Further ones are rejected to bound the memory."""

MOST_SPARE_WAITING = 16

_RETRY_WHEN_CLOSING = 0.05


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Store], Any]
    key: Hashable = None
    spare: bool = False
    done: Future[Any] = field(default_factory=Future)


class Keeper:
    """Runs work on the store, in order, in a thread of its own.

    If the store cannot be used, the work waits and is retried. `on_trouble` is called once with the reason, and with
    None when the store works again. It is called in the keeper's thread.
    """

    def __init__(
        self,
        path: Path,
        on_trouble: Callable[[str | None], None],
        *,
        retry_seconds: float = 2.0,
        busy_seconds: float = 2.0,
    ) -> None:
        self._path = path
        self._on_trouble = on_trouble
        self._retry_seconds = retry_seconds
        self._busy_seconds = busy_seconds
        self._changed = threading.Condition()
        self._waiting: deque[_Job] = deque([_Job(Store.recover)])
        """The first job opens the store."""
        self._running = self._gave_up = False
        self._trouble: str | None = None
        self._deadline: float | None = None
        """When closing must have finished."""
        self._tried = threading.Event()
        self._store: Store | None = None
        self._reader: Store | None = None
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        self._thread = threading.Thread(target=self._work, name="store-keeper", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Why nothing can be saved at present, or None."""
        return self._trouble

    def do(self, work: Callable[[Store], T], *, instead_of: Hashable = None, spare: bool = False) -> Future[T]:
        """Queues `work`, which runs as one transaction after everything queued before, and returns its future result.

        Work with a key in `instead_of` replaces waiting work with the same key, which is cancelled. Use it if the last
        write supersedes earlier ones, as with the text of a streaming answer. `spare` work, such as a trace, is dropped
        first if nothing can be written for long. The future raises StoreError if the work itself was wrong; problems
        with the disk only delay it.
        """
        job = _Job(work, instead_of, spare)
        with self._changed:
            if self._deadline is not None:
                job.done.set_exception(StoreError(f"{self._path} was closed: nothing more is saved"))
                return job.done
            self._drop_replaced(job.key)
            if self._trouble and not self._has_room(job):
                job.done.set_exception(StoreUnavailable(self._trouble))
                return job.done
            self._waiting.append(job)
            self._changed.notify_all()
        return job.done

    def read(self, work: Callable[[Store], T]) -> Future[T]:
        """Runs `work` at once on a read-only connection, and returns its future result.

        It sees what is already written, not what waits; use `do` to read after waiting writes. The future raises
        StoreError if the store could not be read.
        """
        try:
            return self._readers.submit(self._read, work)
        except RuntimeError:
            closed: Future[T] = Future()
            closed.set_exception(StoreError(f"{self._path} was closed: nothing more is read"))
            return closed

    def close(self, seconds: float = 5.0) -> bool:
        """Finishes waiting work within this time and stops. Returns False if something could not be written.

        Closing a second time has no effect.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            self._deadline = deadline
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            self._give_up()
            complete = not (self._gave_up or self._running)
        with suppress(TimeoutError, RuntimeError):
            self._readers.submit(self._close_reader).result(max(deadline - time.monotonic(), 0.1))
        self._readers.shutdown(wait=False)
        return complete

    def _work(self) -> None:
        """The writing thread: runs one job after the other, each until it is done."""
        while (job := self._next()) is not None:
            done = job.done.cancelled() or self._attempt(job)
            self._tried.set()
            with self._changed:
                self._running = False
                if not done:
                    self._waiting.appendleft(job)
                    self._pause()
        self._tried.set()
        with self._changed:
            self._give_up()
        if self._store is not None:
            self._store.close()

    def _next(self) -> _Job | None:
        """Waits for the next job. Returns None when the keeper is to stop."""
        with self._changed:
            while not self._waiting and self._deadline is None:
                self._changed.wait()
            if not self._waiting or self._is_late():
                return None
            self._running = True
            return self._waiting.popleft()

    def _attempt(self, job: _Job) -> bool:
        """Runs one job. Returns False if the store cannot be used at present."""
        try:
            if self._store is None:
                self._store = Store.open(self._path, busy_seconds=self._busy_seconds)
            with self._store.together():
                result = job.work(self._store)
        except StoreUnavailable as error:
            if self._store is not None and not may_go_on(error):
                self._store.close()
                self._store = None
            self._report(str(error))
            return False
        except Exception as error:  # noqa: BLE001 - an error of the work itself, which its caller gets
            _log.warning("something could not be saved: %s", error)
            with suppress(InvalidStateError):
                job.done.set_exception(error)
            return True
        self._report(None)
        with suppress(InvalidStateError):
            job.done.set_result(result)
        return True

    def _report(self, trouble: str | None) -> None:
        """Reports trouble, or its end, if that has changed."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble is None:
            # A reader that was opened while the folder was read-only would not see new writes.
            with suppress(RuntimeError):
                self._readers.submit(self._close_reader)
        try:
            self._on_trouble(trouble)
        except Exception:  # noqa: BLE001 - saving must go on if the callback fails
            _log.exception("the trouble with %s could not be reported", self._path)

    def _pause(self) -> None:
        """Waits before the next attempt, only shortly while closing."""
        until = time.monotonic() + self._retry_seconds
        while self._deadline is None and (left := until - time.monotonic()) > 0:
            self._changed.wait(left)
        if self._deadline is not None and not self._is_late():
            self._changed.wait(_RETRY_WHEN_CLOSING)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _drop(self, job: _Job) -> None:
        self._waiting.remove(job)
        job.done.cancel()

    def _drop_replaced(self, key: Hashable) -> None:
        if key is not None:
            for job in [job for job in self._waiting if job.key == key]:
                self._drop(job)

    def _has_room(self, job: _Job) -> bool:
        """True if one more job can wait, if necessary after dropping the oldest spare one.

        The job that is running counts as waiting, since it returns to the front if it fails.
        """
        spare = [other for other in self._waiting if other.spare]
        full = len(self._waiting) + self._running >= MOST_WAITING
        if not full and not (job.spare and len(spare) >= MOST_SPARE_WAITING):
            return True
        if spare:
            self._drop(spare[0])
        return bool(spare)

    def _give_up(self) -> None:
        self._gave_up = self._gave_up or bool(self._waiting)
        while self._waiting:
            self._waiting.popleft().done.cancel()

    def _read(self, work: Callable[[Store], T]) -> T:
        self._tried.wait()
        try:
            if self._reader is None:
                self._reader = Store.open(self._path, busy_seconds=self._busy_seconds, read_only=True)
            return work(self._reader)
        except StoreUnavailable:
            self._close_reader()
            raise

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
