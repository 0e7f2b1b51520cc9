"""The tokens of a pass, in memory that llama.cpp reads; every pass uses the same memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.llama.branches import Branches
from specchat_engine.llama.library import api


class Batch:
    """Tokens with their positions, and which of them get logits. They belong to sequence 0, or to those of a tree."""

    __slots__ = ("_branched", "_position", "_token", "_wanted", "size", "struct")

    def __init__(self, size: int, sequences: int = 1) -> None:
        """For at most `size` tokens of at most so many sequences. The batch is False if llama.cpp has no memory for
        it."""
        self.size = size
        self._branched = 0
        self.struct: Any = api.llama_batch_init(size, 0, sequences)
        if not self:
            return
        self._token, self._position, self._wanted = (
            (pointer._type_ * size).from_address(ctypes.addressof(pointer.contents))
            for pointer in (self.struct.token, self.struct.pos, self.struct.logits)
        )
        for place in range(size):
            self.struct.n_seq_id[place] = 1
            self.struct.seq_id[place][0] = 0

    def __bool__(self) -> bool:
        return bool(self.struct.token and self.struct.pos and self.struct.logits)

    def fill(self, tokens: Sequence[int], start: int, rows: int) -> None:
        """Makes the next pass read these tokens from position `start` on, with logits for the last `rows` of them."""
        count = len(tokens)
        for place in range(self._branched):
            self.struct.n_seq_id[place], self.struct.seq_id[place][0] = 1, 0
        self._branched = 0
        self._token[:count] = tokens
        self._position[:count] = range(start, start + count)
        self.struct.n_tokens = count
        self._wanted[:count] = [place >= count - rows for place in range(count)]

    def fill_tree(self, token: int, tree: Sequence[int], start: int, branches: Branches) -> None:
        """Makes the next pass read a token at position `start` and a tree that follows it, all with logits."""
        count = len(tree) + 1
        self.fill([token, *tree], start, count)
        self._position[:count] = [start, *(start + 1 + depth for depth in branches.depths)]
        for place, members in enumerate([range(branches.count), *branches.members]):
            self.struct.n_seq_id[place] = len(members)
            for index, sequence in enumerate(members):
                self.struct.seq_id[place][index] = sequence
        self._branched = count

    def free(self) -> None:
        """Frees the memory."""
        api.llama_batch_free(self.struct)


class StateBatch:
    """Hidden states with the tokens that they belong to, or alone."""

    def __init__(self, context: Any) -> None:
        """For passes of this context."""
        self.handle: Any = api.llama_batch_ext_init(context)

    def fill(
        self, states: NDArray[np.float32], tokens: Sequence[int] | None, start: int, rows: int, step: int = 1
    ) -> bool:
        """Makes the next pass read states [n, width] from position `start` on, with outputs for the last `rows`.

        `step` 0 leaves them all at one position. False if llama.cpp takes no states of this width.
        """
        api.llama_batch_ext_clear(self.handle)
        count, width = states.shape
        states = np.ascontiguousarray(states, np.float32)
        pointer = ctypes.POINTER(ctypes.c_float)
        taken = True
        for place in range(count):
            row = api.llama_embd(states[place].ctypes.data_as(pointer), 1, width)
            if tokens is None:
                at = api.llama_batch_ext_add_embd(self.handle, 0, row)
            else:
                at = api.llama_batch_ext_add_token(self.handle, 0, tokens[place])
                taken = at >= 0 and api.llama_batch_ext_set_embd_token(self.handle, at, row) and taken
            position = ctypes.c_int32(start + step * place)
            taken = at >= 0 and api.llama_batch_ext_set_pos(self.handle, at, ctypes.byref(position)) and taken
            api.llama_batch_ext_set_output_logits(self.handle, at, place >= count - rows)
        return taken

    def free(self) -> None:
        """Frees the memory."""
        api.llama_batch_ext_free(self.handle)
