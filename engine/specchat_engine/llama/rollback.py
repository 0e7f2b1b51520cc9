"""How a model's memory drops rejected tokens, and a trial of whether it really does.

A cache of keys and values can drop its last tokens. A recurrent state cannot: either llama.cpp keeps snapshots of the
last tokens of a pass (`n_rs_seq`, for some architectures), or a checkpoint is saved before and restored afterwards.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.architectures import SNAPSHOTS
from specchat_engine.errors import DecodeError
from specchat_engine.llama.library import api
from specchat_engine.models import SessionModel

UNBOUNDED: Final = 2**31 - 1
"""The reach of a cache that can drop any number of tokens."""

_PARTIAL_ON_DEVICE = api.LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY | api.LLAMA_STATE_SEQ_FLAGS_ON_DEVICE

_TRACE = 0.25
"""The share of the wrong tokens' effect on the logits that may remain after a rollback. A rollback that does not work
leaves all of it; kernels for batches of another width differ far less."""

_NOISE = 0.01
"""A difference below this share of the logits' standard deviation is not a trace at all."""


class Rollback:
    """The ways in which one context can go back; `probe_rollback` decides which are used.

    `reach` is how many of a pass's last tokens a cut can drop: `UNBOUNDED`, the number of snapshots, or 0. `saved` is
    the length of the memory at the checkpoint, 0 without one.
    """

    def __init__(self, handle: Any, memory: Any, window: int, sequence: int = 0) -> None:
        """For one sequence of a context. `window` is the model's sliding window in tokens, 0 for none."""
        self.has_checkpoints = True
        self.saved = 0
        self._handle = handle
        self._memory = memory
        self._window = window
        self._sequence = sequence
        self._state: Any = None
        self.use(api.llama_n_rs_seq(handle) or UNBOUNDED)

    def use(self, reach: int) -> None:
        """Sets how many tokens of a pass a cut may drop."""
        self.reach = reach
        self.bounded = reach < UNBOUNDED
        self._droppable = 0 if self.bounded else UNBOUNDED

    def passed(self, count: int) -> None:
        """Notes a pass over `count` tokens: there is a snapshot after each but the first; older ones are stale."""
        self._droppable = min(self.reach, count - 1)

    def as_found(self, other: Rollback) -> None:
        """Goes back in the ways that a trial found for another sequence of the same context."""
        self.has_checkpoints = other.has_checkpoints
        self.use(other.reach)

    def on_clear(self) -> None:
        """Notes that the memory was emptied."""
        self.saved = 0

    def can_cut(self, length: int, drop: int) -> bool:
        """Whether dropping the last `drop` tokens, down to `length`, leaves a correct memory.

        Snapshots allow one cut for each pass. A sliding-window cache may already have lost what the tokens before
        `length` saw: llama.cpp then makes the cut, and the memory is wrong.
        """
        if drop > self._droppable:
            return False
        if not self._window or self.bounded:
            return True
        return self.begin <= max(0, length - self._window)

    @property
    def begin(self) -> int:
        """The first position from which all layers have every token; 0 unless a sliding window has moved on."""
        return int(api.llama_memory_seq_pos_min(self._memory, self._sequence))

    def cut(self, length: int) -> bool:
        """Drops all but the first `length` tokens; 0 always works. False if llama.cpp refuses."""
        if self.bounded:
            self._droppable = 0
        if self.saved > length:
            self.saved = 0
        return bool(api.llama_memory_seq_rm(self._memory, self._sequence, length, -1))

    def save(self, length: int) -> None:
        """Saves a checkpoint of a memory of `length` tokens in place of the previous one. Raises DecodeError.

        It copies only what a cut cannot restore, and the copy stays on the model's devices.
        """
        self.saved = 0
        size = api.llama_state_seq_get_size_ext(self._handle, self._sequence, _PARTIAL_ON_DEVICE)
        if self._state is None or len(self._state) != size:
            self._state = (ctypes.c_uint8 * size)()
        copy, sequence = api.llama_state_seq_get_data_ext, self._sequence
        if not size or copy(self._handle, self._state, size, sequence, _PARTIAL_ON_DEVICE) != size:
            raise DecodeError(f"llama.cpp could not save a checkpoint at {length} tokens: use -k 0 with this model")
        self.saved = length

    def restore(self) -> bool:
        """Goes back to the checkpoint, which can be used again; False if llama.cpp refuses."""
        self._droppable = 0
        size = len(self._state)
        copy, sequence = api.llama_state_seq_set_data_ext, self._sequence
        if copy(self._handle, self._state, size, sequence, _PARTIAL_ON_DEVICE) != size:
            return False
        return bool(api.llama_memory_seq_rm(self._memory, self._sequence, self.saved, -1))


def probe_rollback(model: SessionModel, rollback: Rollback, n_vocab: int) -> bool:
    """Tries each way of going back on a few tokens and enables those that leave no trace; False if none does.

    The memory is empty afterwards. Raises DecodeError if the model cannot read at all.
    """
    trial = _Trial(model, n_vocab)
    rollback.use(rollback.reach if trial.leaves_no_trace() else 0)
    if rollback.bounded:
        reach = rollback.reach
        rollback.use(0)
        rollback.has_checkpoints = trial.leaves_no_trace()
        rollback.use(reach)
    model.rewind(0)
    return rollback.has_checkpoints or rollback.reach > 0


class _Trial:
    """A right and a wrong continuation of a few tokens, and the right one's logits without any rollback."""

    def __init__(self, model: SessionModel, n_vocab: int) -> None:
        self._model = model
        ids = [n_vocab * share // 11 for share in range(1, 11)]
        self._begin, self._first, self._right = ids[:2], ids[2], ids[3]
        drafts = min(model.max_rows - 1, SNAPSHOTS) or 2
        self._wrong = [ids[4 + index % 6] for index in range(drafts)]
        self._fresh = self._logits_after([*self._begin, self._first, self._right])
        self._misled = self._logits_after([*self._begin, self._first, *self._wrong, self._right])

    def leaves_no_trace(self) -> bool:
        """Whether the logits after wrong tokens were dropped are those of a memory that never saw them.

        The tokens are read as in use: in one pass, or one by one where a pass gives one row, as some draft models'.
        """
        model = self._model
        model.rewind(0)
        model.advance(self._begin, 0)
        try:
            if model.max_rows > 1:
                model.advance([self._first, *self._wrong], 1 + len(self._wrong))
            else:
                model.advance([self._first], 1)
                model.checkpoint()
                for token in self._wrong:
                    model.advance([token], 1)
            model.rewind(len(self._begin) + 1)
            logits = model.advance([self._right], 1)[0].astype(np.float64)
        except DecodeError:
            return False
        if not np.isfinite(self._fresh).all():
            return True
        allowed = max(_TRACE * _distance(self._misled, self._fresh), _NOISE * float(self._fresh.std()))
        return _distance(logits, self._fresh) <= allowed

    def _logits_after(self, tokens: Sequence[int]) -> NDArray[np.float64]:
        self._model.rewind(0)
        logits: NDArray[np.float32] = self._model.advance(tokens, 1)[0]
        return logits.astype(np.float64)


def _distance(logits: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The root of the mean squared difference."""
    return float(np.sqrt(np.mean((logits - other) ** 2)))
