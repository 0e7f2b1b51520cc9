"""How fast this machine reads from memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Final

import numpy as np

_BYTES: Final = 256 * 2**20
"""All threads together read this much in one go, which is more than caches hold."""

_ROUNDS: Final = 5


def measure_bandwidth(threads: int) -> float:
    """The bytes a second that this many threads read from memory together; the best of a few rounds. Takes under 1 s.

    Decoding on a CPU is bound by this.
    """
    shares = np.array_split(np.ones(_BYTES // 8, np.float64), max(threads, 1))
    best = 0.0
    with ThreadPoolExecutor(len(shares)) as pool:
        for _ in range(_ROUNDS):
            begin = perf_counter()
            list(pool.map(np.max, shares))
            best = max(best, _BYTES / (perf_counter() - begin))
    return best
