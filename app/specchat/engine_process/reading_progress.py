"""Reports how far the reading of a prompt has come, if it takes long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from specchat_engine import PromptProgress, Session

_SECONDS: Final = 2.0
_PAUSE: Final = 1.0


@contextmanager
def progress_reported(
    session: Session, report: Callable[[PromptProgress], None], seconds: float = _SECONDS, pause: float = _PAUSE
) -> Iterator[Callable[[], None]]:
    """Around an answer: a thread reports the progress after some `seconds`, and again after each `pause`.

    Yields a function to call when the first round is there: nothing is reported from then on.
    """
    ended, reporting = threading.Event(), threading.Lock()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            wait = pause
            with reporting, suppress(BrokenPipeError):  # whoever sends the answer notices that nobody reads
                progress = session.prompt_progress
                if progress and not ended.is_set():
                    report(progress)

    def end() -> None:
        if not ended.is_set():
            with reporting:
                ended.set()

    watching = threading.Thread(target=watch, name="reading", daemon=True)
    watching.start()
    try:
        yield end
    finally:
        end()
        watching.join()
