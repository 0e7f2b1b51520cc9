"""What a pass is made of, in memory that llama.cpp reads and that is used again from pass to pass."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.llama.library import api


class Batch:
    """Tokens of one sequence, with their positions and which of them are answered with logits.

    `token` and `position` are arrays of `size`, of which a pass reads as many as `use` was told.
    """

    __slots__ = ("_wanted", "position", "shape", "size", "struct", "token")

    def __init__(self, size: int) -> None:
        """For at most so many tokens; False where llama.cpp has no memory for them."""
        self.size = size
        self.shape = 0, 0
        """Of the next pass: its tokens, and the rows of logits behind the last of them."""
        self.struct: Any = api.llama_batch_init(size, 0, 1)
        if not self:
            return
        self.token, self.position, self._wanted = (
            (pointer._type_ * size).from_address(ctypes.addressof(pointer.contents))
            for pointer in (self.struct.token, self.struct.pos, self.struct.logits)
        )
        for place in range(size):
            self.struct.n_seq_id[place] = 1
            self.struct.seq_id[place][0] = 0

    def __bool__(self) -> bool:
        return bool(self.struct.token and self.struct.pos and self.struct.logits)

    def fill(self, tokens: Sequence[int], start: int, rows: int) -> None:
        """The next pass reads these tokens from position `start` on, and gives logits behind the last `rows` ones."""
        count = len(tokens)
        self.token[:count] = tokens
        self.position[:count] = range(start, start + count)
        if (count, rows) != self.shape:
            self.use(count, rows)

    def use(self, count: int, rows: int) -> None:
        """The next pass is one over so many tokens, with so many rows of logits."""
        self.shape = count, rows
        self.struct.n_tokens = count
        self._wanted[:count] = [place >= count - rows for place in range(count)]

    def free(self) -> None:
        """Gives the memory back."""
        api.llama_batch_free(self.struct)


class LogitRows:
    """Views of them, made once for each address, since making one takes longer than looking at what it shows."""

    __slots__ = ("_most", "_n_vocab", "_views", "address")

    def __init__(self, most: int, n_vocab: int) -> None:
        """At most so many rows come out of a pass, each of `n_vocab` logits."""
        self._most = most
        self._n_vocab = n_vocab
        self._views: dict[int, NDArray[np.float32]] = {}
        self.address = 0
        """Where the rows of the last pass lie."""

    def at(self, address: int, rows: int) -> NDArray[np.float32]:
        """The first rows of logits [rows, V] at an address."""
        if address != self.address:
            pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
            self._views = {self._most: np.ctypeslib.as_array(pointer, (self._most, self._n_vocab))}
            self.address = address
        view = self._views.get(rows)
        if view is None:
            view = self._views[rows] = self._views[self._most][:rows]
        return view
