"""Who goes first where the cores do not suffice for both: the engine, then the drawing."""

from __future__ import annotations

import os
from contextlib import suppress

DRAWING_NICENESS = 10


def give_way() -> None:
    """Lowers the priority of the calling thread and of those that it starts; once is enough, and it lasts.

    The threads of a pass wait for each other, so that all of them lose what another process takes from one. To be
    called when the engine's process runs: it would inherit the priority, and only an administrator could raise it. An
    engine that is started again after it died has the same priority as the drawing. Windows has no niceness.
    """
    with suppress(AttributeError, OSError):
        os.nice(max(0, DRAWING_NICENESS - os.nice(0)))
