"""Who goes first where the cores do not suffice for both: the engine, then the drawing."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

DRAWING_NICENESS = 10


def give_way() -> None:
    """Lowers the priority of all threads of this process and of those that they start; once is enough, and it lasts.

    The threads of a pass wait for each other, so that all of them lose what another process takes from one. To be
    called when the engine's process runs: it would inherit the priority, and only an administrator could raise it. An
    engine that is started again after it died has the same priority as the drawing. Windows has no niceness.
    """
    with suppress(AttributeError):
        for thread in _threads():
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, max(os.getpriority(os.PRIO_PROCESS, thread), DRAWING_NICENESS))


def _threads() -> list[int]:
    """On Linux each thread has a niceness of its own, also one that was there before; elsewhere 0, all of them."""
    if sys.platform != "linux":
        return [0]
    return [thread.native_id for thread in threading.enumerate() if thread.native_id is not None]
