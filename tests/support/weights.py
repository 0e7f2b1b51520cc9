"""How much memory weights may be said to take."""

from __future__ import annotations

from specchat_engine.llama.machine import this_machine

_ROUNDED = 0.01 * 2**20


def tells_weights(told: int | None, size: int) -> bool:
    """Whether weights in F16 that have so many bytes in the file are told as these, to a hundredth of a MiB or, where
    this processor gets a second copy of them, as between one and two of them."""
    if told is None:
        return False
    if "F16" in this_machine().repacked:
        return size - _ROUNDED < told < 2 * size + _ROUNDED
    return abs(told - size) < _ROUNDED
