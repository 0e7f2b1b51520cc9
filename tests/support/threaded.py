"""A scripted model whose passes take a time computed from their width and threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.testing import ScriptedModel, random_law

Times = Callable[[int, int], float]
"""The milliseconds of a pass, given its width and number of threads."""


def shared_out(width: int, threads: int) -> float:
    """Milliseconds for work that the threads share perfectly."""
    return (1 + 0.5 * (width - 1)) / threads


class ThreadedScript(ScriptedModel):
    """Records width and threads of each pass in `made`."""

    def __init__(self, times: Times = shared_out, *, max_rows: int = 33, on_gpu: bool = False) -> None:
        super().__init__(random_law(24), max_rows=max_rows)
        self.times = times
        self.on_gpu = on_gpu
        self.reading_threads = 1
        self.made: list[tuple[int, int]] = []

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        self.made.append((len(tokens), self.threads))
        self.busy_ns += round(1e6 * self.times(len(tokens), self.threads)) - 1000
        return super().advance(tokens, rows)
