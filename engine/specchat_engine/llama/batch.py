"""The tokens of a pass, in memory that llama.cpp reads; every pass uses the same memory."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.llama.library import api


@dataclass(frozen=True, slots=True)
class PassPart:
    """What one text adds to a pass: tokens, with logits for the last `rows` of them.

    `positions` are those of the tokens in their text. `sequences` has the sequences of llama.cpp that each token
    belongs to, or is the one that all belong to.
    """

    tokens: Sequence[int]
    positions: Sequence[int]
    rows: int
    sequences: int | Sequence[Sequence[int]] = 0

    @classmethod
    def chain(cls, tokens: Sequence[int], start: int, rows: int, sequence: int = 0) -> PassPart:
        """Tokens that follow each other from position `start` on."""
        return cls(tokens, range(start, start + len(tokens)), rows, sequence)


_SEVERAL = -1


class Batch:
    """The tokens of a pass with their positions and sequences, and which of them get logits."""

    __slots__ = ("_position", "_sequence", "_token", "_wanted", "size", "struct")

    def __init__(self, size: int, sequences: int = 1) -> None:
        """For at most `size` tokens of at most `sequences` sequences each. The batch is False if llama.cpp has no
        memory for it."""
        self.size = size
        self.struct: Any = api.llama_batch_init(size, 0, sequences)
        if not self:
            return
        self._token, self._position, self._wanted = (
            (pointer._type_ * size).from_address(ctypes.addressof(pointer.contents))
            for pointer in (self.struct.token, self.struct.pos, self.struct.logits)
        )
        for entry in range(size):
            self.struct.n_seq_id[entry] = 1
            self.struct.seq_id[entry][0] = 0
        self._sequence = [0] * size

    def __bool__(self) -> bool:
        return bool(self.struct.token and self.struct.pos and self.struct.logits)

    def fill(self, parts: Sequence[PassPart]) -> None:
        """Makes the next pass read these parts, which together have at most `size` tokens."""
        begin = 0
        for part in parts:
            count = len(part.tokens)
            end = begin + count
            self._token[begin:end] = part.tokens
            self._position[begin:end] = part.positions
            self._wanted[begin:end] = [entry >= count - part.rows for entry in range(count)]
            if isinstance(part.sequences, int):
                for entry in range(begin, end):
                    if self._sequence[entry] != part.sequences:
                        self._belongs(entry, (part.sequences,))
            else:
                for entry, sequences in zip(range(begin, end), part.sequences, strict=True):
                    self._belongs(entry, sequences)
            begin = end
        self.struct.n_tokens = begin

    def free(self) -> None:
        """Frees the memory."""
        api.llama_batch_free(self.struct)

    def _belongs(self, entry: int, sequences: Sequence[int]) -> None:
        """Says which sequences a token belongs to."""
        self.struct.n_seq_id[entry] = len(sequences)
        for index, sequence in enumerate(sequences):
            self.struct.seq_id[entry][index] = sequence
        self._sequence[entry] = sequences[0] if len(sequences) == 1 else _SEVERAL


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
        for index in range(count):
            row = api.llama_embd(states[index].ctypes.data_as(pointer), 1, width)
            if tokens is None:
                at = api.llama_batch_ext_add_embd(self.handle, 0, row)
            else:
                at = api.llama_batch_ext_add_token(self.handle, 0, tokens[index])
                taken = at >= 0 and api.llama_batch_ext_set_embd_token(self.handle, at, row) and taken
            position = ctypes.c_int32(start + step * index)
            taken = at >= 0 and api.llama_batch_ext_set_pos(self.handle, at, ctypes.byref(position)) and taken
            api.llama_batch_ext_set_output_logits(self.handle, at, index >= count - rows)
        return taken

    def free(self) -> None:
        """Frees the memory."""
        api.llama_batch_ext_free(self.handle)
