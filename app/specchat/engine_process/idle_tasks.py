"""Work for an idle engine: its passes are measured, and what it learned is kept."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from time import monotonic

from specchat.engine_process.records import Record
from specchat.texts import Collections
from specchat_engine import Engine
from specchat_engine.errors import EngineError


class IdleTasks:
    """Measures an engine while it is idle, and keeps what it learns."""

    def __init__(self, engine: Engine, lock: AbstractContextManager[object], keep_every_s: float) -> None:
        """Nothing computes while a thread has the `lock`."""
        self._engine = engine
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

    def measure(self) -> bool:
        """Makes one pass of the measurements that are left, while no answer is given; False if there are none."""
        try:
            next(self._measuring)
        except StopIteration:
            return False
        except EngineError as error:
            sys.stderr.write(f"measuring stopped: {error}\n")
            return False
        self._news = True
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
