"""Copies of what a text has in memory, for the time in which it is not read.

Where attention keeps its scores, each row of a pass is compared with the cells of all texts of a context. A text that
is swapped out costs the others nothing.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.llama.library import api
from specchat_engine.llama.machine import this_machine

_BYTES = ctypes.POINTER(ctypes.c_uint8)

_SHARE = 0.25
"""A copy takes at most this share of the main memory that is free."""


class Swap:
    """The copy of one sequence of a context, if there is one."""

    def __init__(self, handle: Any, memory: Any, sequence: int) -> None:
        self._handle = handle
        self._memory = memory
        self._sequence = sequence
        self._copy: NDArray[np.uint8] | None = None

    @property
    def is_out(self) -> bool:
        """Whether the sequence is in the copy, and has no cells."""
        return self._copy is not None

    def swap_out(self) -> bool:
        """Moves the sequence to a copy unless it is there; False if there is no room for it."""
        if self.is_out:
            return True
        size = api.llama_state_seq_get_size(self._handle, self._sequence)
        if size > _SHARE * this_machine().host.free:
            return False
        copy = np.empty(size, np.uint8)
        if api.llama_state_seq_get_data(self._handle, copy.ctypes.data_as(_BYTES), size, self._sequence) != size:
            return False
        api.llama_memory_seq_rm(self._memory, self._sequence, -1, -1)
        self._copy = copy
        return True

    def swap_in(self) -> bool:
        """Moves the sequence to the first free cells if it is out; False if llama.cpp fails to, and it is lost."""
        done = not self.is_out or self.copy_to(self._sequence)
        self._copy = None
        return done

    def copy_to(self, sequence: int) -> bool:
        """Makes a sequence what the copy holds; False if llama.cpp fails to, and it is lost."""
        copy = self._copy
        if copy is None:
            return False
        data = copy.ctypes.data_as(_BYTES)
        return bool(api.llama_state_seq_set_data(self._handle, data, copy.size, sequence) == copy.size)

    def drop(self) -> None:
        """Forgets the copy."""
        self._copy = None
