"""A model's working memory: what it has read, and the logits of what it read last."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError, ModelFileError
from specchat_engine.llama.library import api, decode, get_logits_address
from specchat_engine.llama.logs import native_log
from specchat_engine.llama.model import LlamaModel
from specchat_engine.prefix import common_prefix

_CHUNK = 512
"""At most so many tokens of a prompt in a pass: a cancel is looked for between passes."""

_CELLS = 256
"""llama.cpp makes memories in such steps, and clamps the batch to what was asked for before it rounds up."""

_MEANINGS = {1: "no room in the memory for the batch", 2: "aborted", -1: "invalid batch"}


class LlamaContext:
    """One sequence of tokens in a model's memory.

    `tokens` mirrors the memory. `busy_ns` sums the time of all passes with their synchronisation, and nothing else.
    At most `max_rows` rows of logits come out of one pass: more would end the process in an assertion of llama.cpp.
    """

    def __init__(self, model: LlamaModel, *, n_ctx: int, max_rows: int, threads: int) -> None:
        """Raises ModelFileError where llama.cpp cannot make the context (out of memory, mostly)."""
        self.model = model
        self.tokens: list[int] = []
        self.busy_ns = 0
        self.user: object = None
        self.max_rows = max_rows
        params = api.llama_context_default_params()
        params.n_ctx = -(-n_ctx // _CELLS) * _CELLS
        params.n_batch = params.n_ubatch = max(_CHUNK, max_rows)
        params.n_outputs_max = max_rows
        params.n_threads = params.n_threads_batch = threads
        native_log.clear()
        self.handle: Any = api.llama_init_from_model(model.handle, params)
        if not self.handle:
            reason = native_log.last_error() or "not enough memory"
            raise ModelFileError(f"{model.path}: no context of {n_ctx} tokens: {reason}; try a smaller -c")
        self.capacity: int = api.llama_n_ctx(self.handle)
        self._pointer = ctypes.cast(self.handle, ctypes.c_void_p)
        self._memory = api.llama_get_memory(self.handle)
        self._n_vocab = model.vocabulary.size
        self._views: dict[tuple[int, int], NDArray[np.float32]] = {}
        self._size: int = api.llama_n_batch(self.handle)
        self._batch = api.llama_batch_init(self._size, 0, 1)
        self._token, self._position, self._wanted = self._batch.token, self._batch.pos, self._batch.logits
        for place in range(self._size):
            self._batch.n_seq_id[place] = 1
            self._batch.seq_id[place][0] = 0

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""
        return len(self.tokens)

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens behind the memory; logits [rows, V] of the last `rows`, a view that the next pass overwrites.

        Raises DecodeError where the tokens do not fit or llama.cpp reports a failure; the memory is then as before.
        """
        if rows > self.max_rows:
            raise DecodeError(
                f"{rows} rows of logits were asked for, {self.max_rows} are reserved: load with a larger k"
            )
        while len(tokens) > self._size:
            self._decode(tokens[: self._size], 0)
            tokens = tokens[self._size :]
        return self._decode(tokens, rows)

    def keep(self, tokens: Sequence[int]) -> None:
        """Forgets what these tokens do not begin with; all of it, where the memory cannot be cut."""
        common = common_prefix(self.tokens, tokens)
        if self.model.can_cut or common == len(self.tokens):
            self.rewind(common)
        else:
            self.clear()

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Makes the memory hold exactly these tokens, keeping what it has in common with them.

        Raises Cancelled between two chunks; what was read by then stays, so that the next turn can use it.
        """
        self.keep(tokens)
        for start in range(len(self.tokens), len(tokens), self._size):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self._decode(tokens[start : start + self._size], 0)

    def rewind(self, length: int) -> None:
        """Forgets all but the first `length` tokens.

        Raises DecodeError where the memory refuses the cut (recurrent state, mostly); it is empty then.
        """
        if length >= len(self.tokens):
            return
        if length == 0:
            self.clear()
        elif api.llama_memory_seq_rm(self._memory, 0, length, -1):
            del self.tokens[length:]
        else:
            self.clear()
            raise DecodeError(f"{self.model.path.name} cannot forget back to {length} tokens: use -k 0 with this model")

    def clear(self) -> None:
        """Forgets everything."""
        if self.handle:
            api.llama_memory_clear(self._memory, True)
        self.tokens.clear()

    def close(self) -> None:
        """Frees the memory; calling it again does nothing."""
        if self.handle:
            api.llama_batch_free(self._batch)
            api.llama_free(self.handle)
            self.handle = None
            self.tokens.clear()

    def _decode(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        count = len(tokens)
        start = len(self.tokens)
        if not self.handle:
            raise DecodeError("the model was closed: load it again")
        if start + count > self.capacity:
            raise DecodeError(f"{start + count} tokens do not fit a context of {self.capacity}: use a larger -c")
        for place, token in enumerate(tokens):
            self._token[place] = token
            self._position[place] = start + place
            self._wanted[place] = place >= count - rows
        self._batch.n_tokens = count
        begin = perf_counter_ns()
        code = decode(self._pointer, self._batch)
        address = get_logits_address(self._pointer) if rows else 0
        self.busy_ns += perf_counter_ns() - begin
        if code != 0:
            self._recover(start)
            meaning = _MEANINGS.get(code, "failure") if code >= -1 else native_log.last_error() or "fatal error"
            raise DecodeError(f"llama.cpp could not read {count} tokens at {start}: {meaning} (code {code})")
        self.tokens += tokens
        return self._view(address, rows) if rows else np.empty((0, self._n_vocab), np.float32)

    def _recover(self, length: int) -> None:
        """After a failed pass the memory may hold part of the batch: cut it, or empty it where that is refused."""
        if not api.llama_memory_seq_rm(self._memory, 0, length, -1):
            self.clear()

    def _view(self, address: int, rows: int) -> NDArray[np.float32]:
        """The first rows of logits at an address; made once for each, since making a view is slow."""
        view = self._views.get((address, rows))
        if view is None:
            if (address, self.max_rows) not in self._views:
                pointer = ctypes.cast(address, ctypes.POINTER(ctypes.c_float))
                self._views = {(address, self.max_rows): np.ctypeslib.as_array(pointer, (self.max_rows, self._n_vocab))}
            view = self._views[address, rows] = self._views[address, self.max_rows][:rows]
        return view
