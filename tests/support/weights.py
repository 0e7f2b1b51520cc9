"""Checks of the reported size of weights in memory."""

from __future__ import annotations

from specchat_engine.llama.machine import this_machine

_ROUNDED = 0.01 * 2**20


def tells_weights(told: int | None, size: int) -> bool:
    """Whether F16 weights of `size` bytes are reported correctly, to a hundredth of a MiB.

    If llama.cpp keeps a second, repacked copy on this processor, the report may lie between one and two sizes.
    """
    if told is None:
        return False
    if "F16" in this_machine().repacked:
        return size - _ROUNDED < told < 2 * size + _ROUNDED
    return abs(told - size) < _ROUNDED
