"""A pair timed in the engine's process: progress goes out, and a word from outside stops it."""

from __future__ import annotations

from collections.abc import Callable

from specchat.bench.plan import DRAFTED
from specchat.worker.protocol import Event, Timed, Timing
from specchat_engine import Engine
from specchat_engine.errors import Cancelled, PairError

_PROGRESS_STEP = 0.02


def time_pair(engine: Engine, seconds: float, stopped: Callable[[], bool], tell: Callable[[Event], None]) -> Timed:
    """What the draft gains. Raises Cancelled where it was stopped, EngineError where the pair cannot be timed."""
    from specchat.bench.drafts import time_draft

    if DRAFTED.drafter not in engine.drafters:
        raise PairError(engine.plain_because or "the draft was refused")
    told = -1.0

    def hear(share: float) -> None:
        nonlocal told
        if stopped():
            raise Cancelled("timing was stopped")
        if share >= told + _PROGRESS_STEP:
            told = share
            tell(Timing(share))

    timed = time_draft(engine, seconds, hear=hear)
    return Timed(timed.gain if timed else None)
