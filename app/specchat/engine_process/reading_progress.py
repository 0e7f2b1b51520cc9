"""Tells how far the reading of a prompt has come, if it takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from specchat_engine import PromptProgress, Session

_SECONDS: Final = 2.0
_PAUSE: Final = 1.0


@contextmanager
def told_while_reading(
    session: Session, tell: Callable[[PromptProgress], None], seconds: float = _SECONDS, pause: float = _PAUSE
) -> Iterator[Callable[[], None]]:
    """Around an answer: a thread of its own tells the progress after some `seconds`, and again after each `pause`.

    Gives what to call once the first round is there: nothing is told from then on.
    """
    ended, telling = threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            wait = pause
            with telling, suppress(BrokenPipeError):  # whoever sends the answer notices that nobody reads
                progress = session.prompt_progress
                if progress and not ended.is_set():
                    tell(progress)

    def end() -> None:
        if not ended.is_set():
            with telling:
                ended.set()

    watching = threading.Thread(target=watch, name="reading", daemon=True)
    watching.start()
    try:
        yield end
    finally:
        end()
        watching.join()
