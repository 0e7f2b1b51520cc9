"""What Ctrl+C does while an answer is written line by line."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stops_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl+C calls `stop`, which ends the answer and keeps what was said; a second one ends the program."""

    def first(_signal: int, _frame: FrameType | None) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
