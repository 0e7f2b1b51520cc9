"""A model whose logits are a function of the preceding tokens, with a memory that behaves like llama.cpp's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError
from specchat_engine.prompt.encoding import common_prefix

Law = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""The logits [V] that follow a sequence of tokens."""


class ScriptedModel:
    """Keeps its memory like llama.cpp and is as strict: it checks rows, capacity and cuts at every call.

    As in llama.cpp, the next call overwrites the array that `advance` returns.
    """

    def __init__(self, law: Law, *, capacity: int = 4096, max_rows: int = 33, chunk: int = 64) -> None:
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.threads = 1
        self.passes: list[int] = []
        self.capacity = capacity
        self.max_rows = max_rows
        self.goes_back_freely = True
        self.law = law
        self._chunk = chunk
        self._rows: NDArray[np.float32] | None = None

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""
        return len(self.tokens)

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last `rows` of them.

        Raises DecodeError if there is no room, nothing to read, or fewer rows reserved than asked for.
        """
        if not tokens or not 0 <= rows <= min(len(tokens), self.max_rows):
            raise DecodeError(f"a pass over {len(tokens)} tokens for {rows} rows; at most {self.max_rows} are reserved")
        if len(self.tokens) + len(tokens) > self.capacity:
            raise DecodeError(f"{len(self.tokens) + len(tokens)} tokens do not fit a context of {self.capacity}")
        if self._rows is not None:
            self._rows.fill(np.nan)
        self.tokens += tokens
        self.passes.append(len(tokens))
        self.busy_ns += 1000
        ends = range(len(self.tokens) - rows + 1, len(self.tokens) + 1)
        self._rows = np.array([self.law(tuple(self.tokens[:end])) for end in ends], dtype=np.float32)
        return self._rows

    def checkpoint(self) -> None:
        """Does nothing: this memory can go back to any length."""

    def rewind(self, length: int) -> None:
        """Forgets all but the first `length` tokens."""
        if length < 0:
            raise DecodeError(f"a cut back to {length} tokens")
        del self.tokens[length:]

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens."""
        self.rewind(common_prefix(self.tokens, tokens))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Makes the memory hold exactly these tokens. Raises Cancelled between two chunks."""
        self.keep(tokens)
        for start in range(len(self.tokens), len(tokens), self._chunk):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self.advance(tokens[start : start + self._chunk], 0)

    def clear(self) -> None:
        """Forgets everything."""
        self.tokens.clear()


def random_law(n_vocab: int, *, seed: int = 0, order: int = 2, spread: float = 2.0) -> Law:
    """Random but fixed logits that depend on the last `order` tokens; `spread` is their standard deviation."""

    def law(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        key = [seed, *tokens[-order:]]
        return (np.random.default_rng(key).standard_normal(n_vocab) * spread).astype(np.float32)

    return law


def peaked(script: Sequence[int], n_vocab: int, *, prompt_length: int, peak: float = 20.0) -> Law:
    """A law that repeats the script after a prompt of that length, and then its last token for ever."""

    def law(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.zeros(n_vocab, dtype=np.float32)
        row[script[min(len(tokens) - prompt_length, len(script) - 1)]] = peak
        return row

    return law
