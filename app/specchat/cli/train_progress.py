"""What every training shows while it runs, and how Ctrl+C ends it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from specchat.cli.messages import say, show_progress

_PAUSE_S = 30.0

if TYPE_CHECKING:
    from specchat_engine.training.runs import Progress, Training


@contextmanager
def stops(training: Training) -> Iterator[None]:
    """Ctrl+C ends the training and keeps the best so far; a second one ends the process."""
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        training.stop()
        signal.signal(signal.SIGINT, before)
        say("stopping after this step; the best so far is kept")

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class ProgressLine:
    """The last row of a terminal; elsewhere a line every half minute."""

    def __init__(self) -> None:
        self._next = monotonic() + _PAUSE_S

    def show(self, text: str) -> None:
        """Shows a text in place of the one before."""
        if sys.stderr.isatty():
            show_progress(sys.stderr, text)
        elif monotonic() >= self._next:
            say(text)
            self._next = monotonic() + _PAUSE_S

    def hear(self, progress: Progress) -> None:
        """Shows how far a training is."""
        self.show(_in_words(progress))

    def clear(self) -> None:
        """Clears the row."""
        show_progress(sys.stderr, "")


def _in_words(progress: Progress) -> str:
    speed = f"{progress.tokens / progress.seconds:,.0f} tokens/s"
    if progress.loss is None:
        parts = [f"{progress.share:4.0%}", f"the target has read {progress.tokens:,} tokens", speed]
    else:
        parts = [f"{progress.share:4.0%}", f"step {progress.step}", speed, f"loss {progress.loss:.3f}"]
        parts.append(f"held-out α {alphas(progress.alphas)}")
    return "  ".join(parts)


def alphas(values: Sequence[float]) -> str:
    """Acceptance rates as they are shown."""
    return " ".join(f"{value:.3f}" for value in values)
