"""The thread that writes, so that whoever has something to be kept never waits for a disk."""

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
"""Writes that are remembered while nothing can be written. More than these are refused: memory has an end."""

MOST_SPARE_WAITING = 16

_RETRY_WHEN_CLOSING = 0.05


@dataclass(frozen=True, slots=True)
class _Job:
    work: Callable[[Store], Any]
    key: Hashable = None
    spare: bool = False
    done: Future[Any] = field(default_factory=Future)


class Keeper:
    """Does what it is given with the store, in order, in a thread of its own.

    While the store cannot be used, `on_trouble` is told once why, work waits and is tried again, and `on_trouble` is
    told None when all is well again. It is called in the keeper's thread.
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
        """The first one is there to have the store opened."""
        self._running = False
        self._trouble: str | None = None
        self._deadline: float | None = None
        """When closing has to be over."""
        self._tried = threading.Event()
        self._store: Store | None = None
        self._reader: Store | None = None
        self._readers = ThreadPoolExecutor(max_workers=1, thread_name_prefix="store-reader")
        self._thread = threading.Thread(target=self._work, name="store-keeper", daemon=True)
        self._thread.start()

    @property
    def trouble(self) -> str | None:
        """Why nothing can be saved at present; None while all is well."""
        return self._trouble

    def do(self, work: Callable[[Store], T], *, instead_of: Hashable = None, spare: bool = False) -> Future[T]:
        """Has `work` done behind what was given before, all of it or nothing, and returns its result to come.

        Work with a key in `instead_of` takes the place of waiting work with the same key, which is cancelled: use it
        where the last write says it all, such as the text of an answer so far. `spare` work, such as a trace, is given
        up first where nothing can be written for long. The result's exception is a StoreError where the work itself
        was wrong; trouble with the disk only delays it.
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
        """Has `work` done at once through a connection that only reads, and returns its result to come.

        It sees what was written so far, and not what waits; use `do` to read behind it. Its exception is a
        StoreError where it could not be read.
        """
        try:
            return self._readers.submit(self._read, work)
        except RuntimeError:
            closed: Future[T] = Future()
            closed.set_exception(StoreError(f"{self._path} was closed: nothing more is read"))
            return closed

    def close(self, seconds: float = 5.0) -> bool:
        """Finishes what waits, within this time, and stops; False where something could not be written by then.

        Closing again does nothing more.
        """
        deadline = time.monotonic() + seconds
        with self._changed:
            self._deadline = deadline
            self._changed.notify_all()
        self._thread.join(seconds)
        with self._changed:
            complete = not (self._waiting or self._running)
            self._give_up()
        with suppress(TimeoutError, RuntimeError):
            self._readers.submit(self._close_reader).result(max(deadline - time.monotonic(), 0.1))
        self._readers.shutdown(wait=False)
        return complete

    def _work(self) -> None:
        """The writing thread: one piece of work after the other, each until it is done."""
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
        """The next piece of work, as soon as there is one; None when the keeper is to stop."""
        with self._changed:
            while not self._waiting and self._deadline is None:
                self._changed.wait()
            if not self._waiting or self._is_late():
                return None
            self._running = True
            return self._waiting.popleft()

    def _attempt(self, job: _Job) -> bool:
        """Does one piece of work; False where the store cannot be used at present."""
        try:
            if self._store is None:
                self._store = Store.open(self._path, busy_seconds=self._busy_seconds)
            with self._store.together():
                result = job.work(self._store)
        except StoreUnavailable as error:
            if self._store is not None and not may_go_on(error):
                self._store.close()
                self._store = None
            self._tell(str(error))
            return False
        except Exception as error:  # noqa: BLE001 - the work's own fault, which is its caller's to know
            _log.warning("something could not be saved: %s", error)
            with suppress(InvalidStateError):
                job.done.set_exception(error)
            return True
        self._tell(None)
        with suppress(InvalidStateError):
            job.done.set_result(result)
        return True

    def _tell(self, trouble: str | None) -> None:
        """Says what has changed about the trouble, if anything has."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble is None:
            # The reader may have been opened while the folder could not be written, and would see nothing new.
            with suppress(RuntimeError):
                self._readers.submit(self._close_reader)
        try:
            self._on_trouble(trouble)
        except Exception:  # noqa: BLE001 - saving goes on, whatever becomes of whom it is told to
            _log.exception("the trouble with %s could not be told", self._path)

    def _pause(self) -> None:
        """Waits until it is worth trying again; while closing, that is soon."""
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
        """Whether one more can wait, if need be in the place of the oldest that can be spared.

        What is being tried just now waits as well: it comes back to the front if it fails.
        """
        spare = [other for other in self._waiting if other.spare]
        full = len(self._waiting) + self._running >= MOST_WAITING
        if not full and not (job.spare and len(spare) >= MOST_SPARE_WAITING):
            return True
        if spare:
            self._drop(spare[0])
        return bool(spare)

    def _give_up(self) -> None:
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
