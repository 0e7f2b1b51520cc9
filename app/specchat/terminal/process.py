"""How this process behaves in a terminal: Ctrl+C while an answer is printed, and its priority beside the engine."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType


@contextmanager
def stops_on_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl+C calls `stop`, which ends the answer and keeps its text. A second one ends the program."""

    def first(_signal: int, _frame: FrameType | None) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


DRAWING_NICENESS = 10


def give_way() -> None:
    """Lowers the priority of this process, so that drawing does not slow the engine down.

    The threads of a pass wait for each other, so time that drawing takes from one thread is lost for all. Call this
    after the engine's process has started, since a child inherits the priority. An engine that is restarted later has
    the same priority as the drawing. Has no effect on Windows.
    """
    with suppress(AttributeError):
        for thread in _threads():
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), DRAWING_NICENESS))


def _threads() -> list[int]:
    """The threads to change: on Linux each has its own niceness; elsewhere 0 stands for the process."""
    if sys.platform != "linux":
        return [0]
    return [thread.native_id for thread in threading.enumerate() if thread.native_id is not None]
