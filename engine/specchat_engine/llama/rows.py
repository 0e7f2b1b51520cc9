"""The rows of logits of a pass, where llama.cpp leaves them."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray


class LogitRows:
    """Views of them, made once for each address, since making one takes longer than looking at what it shows."""

    __slots__ = ("_most", "_n_vocab", "_views", "address", "first")

    def __init__(self, most: int, n_vocab: int) -> None:
        """At most so many rows come out of a pass, each of `n_vocab` logits."""
        self._most = most
        self._n_vocab = n_vocab
        self._views: dict[int, NDArray[np.float32]] = {}
        self.address = 0
        """Where the rows of the last pass lie."""
        self.first: NDArray[np.float32] = np.empty(0, np.float32)
        """The first row there."""

    def at(self, address: int, rows: int) -> NDArray[np.float32]:
        """The first rows of logits [rows, V] at an address."""
        if address != self.address:
            pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
            self._views = {self._most: np.ctypeslib.as_array(pointer, (self._most, self._n_vocab))}
            self.address, self.first = address, self._views[self._most][0]
        view = self._views.get(rows)
        if view is None:
            view = self._views[rows] = self._views[self._most][:rows]
        return view
