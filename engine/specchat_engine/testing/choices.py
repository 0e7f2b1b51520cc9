"""A grammar of bytes that allows a few whole answers, to test constraints without llama.cpp."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError


class Choices:
    """A place in one of several texts: `rests` is what may still come, `ends` the ids that end an answer."""

    def __init__(self, rests: frozenset[bytes], ends: Set[int]) -> None:
        self.rests = rests
        self.closed = False
        self._ends = ends

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these ids may come here. Raises DecodeError for a place that was closed."""
        if self.closed:
            raise DecodeError("this place of the grammar was closed: begin again")
        possible = {rest[0] for rest in self.rests if rest} | (set(self._ends) if b"" in self.rests else set())
        return np.array([token in possible for token in ids.tolist()], np.bool_)

    def after(self, token: int) -> Choices | None:
        """The place behind one more token, None where the token may not come here."""
        if not self.allows(np.array([token]))[0]:
            return None
        if token in self._ends:
            return Choices(self.rests, self._ends)
        return Choices(frozenset(rest[1:] for rest in self.rests if rest[:1] == bytes((token,))), self._ends)

    def close(self) -> None:
        """Makes every later question an error."""
        self.closed = True
