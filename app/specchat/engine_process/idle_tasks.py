"""Work for an idle engine: its passes are measured, and what it learned is kept."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from time import monotonic

from specchat.engine_process.records import Record
from specchat.texts import Collections
from specchat_engine import Engine
from specchat_engine.errors import EngineError, SettingError


class IdleTasks:
    """Measures an engine while it is idle, prepares it for grammars, and keeps what it learns."""

    def __init__(
        self, engine: Engine, lock: AbstractContextManager[object], keep_every_s: float, *, prepares_grammars: bool
    ) -> None:
        """Nothing computes while a thread has the `lock`."""
        self._engine = engine
        self._unprepared = prepares_grammars
        self._lock = lock
        self._keep_every_s = keep_every_s
        self._kept = monotonic()
        self._news = False
        self._measuring = engine.measuring()

    @property
    def due_s(self) -> float | None:
        """In how many seconds there is something to keep; None if nothing is new."""
        return max(0.0, self._kept + self._keep_every_s - monotonic()) if self._news else None

    def answered(self) -> None:
        """An answer has ended: something was learned, and passes that were disturbed before are measured again."""
        self._news = True
        self.measure_again()

    def measure_again(self) -> None:
        """Begins to measure what is not known, as after other thread counts were chosen."""
        self._measuring = self._engine.measuring()

    def step(self) -> bool:
        """Makes one pass of the measurements that are left, while no answer is given, and prepares for grammars once
        there are none; False if nothing is left to do."""
        try:
            next(self._measuring)
        except StopIteration:
            return self._prepare()
        except EngineError as error:
            sys.stderr.write(f"measuring stopped: {error}\n")
            return False
        self._news = True
        return True

    def _prepare(self) -> bool:
        if not self._unprepared:
            return False
        self._unprepared = False
        with suppress(SettingError):  # the first request with a grammar gets the error
            self._engine.prepare_grammars()
        return True

    def keep(self) -> None:
        """Keeps what is new. Answers go on while it is written."""
        if self._news:
            with self._lock:
                record, hits = Record.of(self._engine), self._engine.stores.taken_hits()
            record.write()
            if hits:
                Collections().count(hits)
            self._news, self._kept = False, monotonic()
