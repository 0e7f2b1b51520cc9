"""How much memory a loaded pair takes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import numpy as np


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes by what they are for; 0 where there is no draft model, None where llama.cpp does not tell.

    Weights count twice where they got a layout of their own beside the mapped file. A cache is what holds the tokens
    that a model has read, reserved for the whole context at load. `compute` is what both models' passes work in. All is
    known to a hundredth of a MiB for each buffer.
    """

    target_weights: int | None = None
    draft_weights: int | None = None
    target_cache: int | None = None
    draft_cache: int | None = None
    compute: int | None = None


_BYTES: Final = 256 * 2**20
"""Read in one go, by all threads together: more than caches hold."""

_ROUNDS: Final = 5


def measure_bandwidth(threads: int) -> float:
    """Bytes a second that so many threads read from memory together, the best of a few rounds; under a second."""
    shares = np.array_split(np.ones(_BYTES // 8, np.float64), max(threads, 1))
    best = 0.0
    with ThreadPoolExecutor(len(shares)) as pool:
        for _ in range(_ROUNDS):
            begin = perf_counter()
            list(pool.map(np.max, shares))
            best = max(best, _BYTES / (perf_counter() - begin))
    return best
