"""What every training shows while it runs, and how Ctrl+C ends it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from specchat.cli.reporting import say, show_progress

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


def show(progress: Progress) -> None:
    """Shows how far a training is."""
    parts = [f"{progress.share:4.0%}", f"step {progress.step}", f"{progress.tokens / progress.seconds:,.0f} tokens/s"]
    parts += [f"loss {progress.loss:.3f}", f"held-out α {alphas(progress.alphas)}"]
    show_progress(sys.stderr, "  ".join(parts))


def alphas(values: Sequence[float]) -> str:
    """Acceptance rates as they are shown."""
    return " ".join(f"{value:.3f}" for value in values)
