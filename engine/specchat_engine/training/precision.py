"""In which precision a device trains soonest."""

from __future__ import annotations

import time
from functools import cache

import torch

_ROWS, _WIDTH, _TRIES = 64, 512, 3


@cache
def matrix_precision(device: torch.device) -> torch.dtype:
    """bfloat16, unless the device is slower with it than with float32, as a CPU without instructions for it is.

    Without them torch is up to a hundred times as slow at the products of the way back, those whose right side is not
    transposed, and does not say so; hence one of these is timed in both.
    """
    if device.type != "cpu":
        return torch.bfloat16
    wide, narrow = _seconds(torch.float32), _seconds(torch.bfloat16)
    return torch.bfloat16 if narrow <= wide else torch.float32


def matrix_autocast(device: torch.device) -> torch.autocast:
    """The context in which a model's passes run in that precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=matrix_precision(device) is torch.bfloat16)


def _seconds(precision: torch.dtype) -> float:
    """The least of a few tries behind an untimed one, so that neither starting up nor a busy moment decides."""
    left, right = torch.ones(_ROWS, _WIDTH, dtype=precision), torch.ones(_WIDTH, _WIDTH, dtype=precision)
    left @ right
    tries = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        left @ right
        tries.append(time.perf_counter() - began)
    return min(tries)
