"""Companion files that draft in their target's own memory: Gemma 4 assistants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.llama.batch import StateBatch
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.hidden import staged
from specchat_engine.llama.library import api, floats
from specchat_engine.llama.logs import native_log, read_buffers
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import context_params, new_context
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.attention import Attention


class AssistantHead:
    """Layers that attend to the target's last keys and values and keep none of their own.

    Each token is read with the hidden state before it: the target's at first, then the assistant's own output. All
    drafted tokens are read at one position, since the memory ends there. `busy_ns` and tokens are looked after by
    `StateHeadModel`.
    """

    def __init__(self, model: LlamaModel, target: LlamaContext, *, options: LoadOptions) -> None:
        """Shares the memory of the `target`, which must be empty.

        Raises ModelFileError if llama.cpp cannot make the context, and NativeLibraryError for a missing function.
        """
        self._model = model
        self._target = target
        self._states, output = staged("llama_get_embeddings_nextn"), staged("llama_set_embeddings_nextn")
        attention = Attention.of(options, model.header, target.capacity, on_cpu=model.on_cpu)
        params = context_params(options, attention, n_ctx=target.capacity, max_rows=1, threads=target.threads)
        params.n_rs_seq = 0
        params.ctx_other = target.handle
        self._handle: Any = new_context(model, params, f"no memory shared with {target.model.path.name}")
        output(self._handle, True, True)
        self.buffers = read_buffers(native_log.sizes)
        self._batch = StateBatch(self._handle)
        self._computing = target.threads
        self._state: NDArray[np.float32] = np.zeros((1, target.model.header.width), np.float32)
        self._position = 0

    @property
    def size_bytes(self) -> int:
        """Nothing: its weights are those of its model."""
        return 0

    def begin(self, state: NDArray[np.float32], position: int) -> None:
        """Starts from the target's state [width] of the token before `position`."""
        self._state, self._position = state[None], position

    def logits(self, token: int) -> NDArray[np.float32]:
        """The logits [V] of the token after this one. Raises DecodeError if llama.cpp fails."""
        if not self._handle:
            raise DecodeError("the model was closed: load it again")
        if self._computing != self._target.threads:
            self._computing = self._target.threads
            api.llama_set_n_threads(self._handle, self._computing, self._computing)
        fits = self._batch.fill(self._state, [token], self._position, 1)
        code = api.llama_process(self._handle, api.LLAMA_PROCESS_TYPE_DECODE, self._batch.handle) if fits else -1
        api.llama_synchronize(self._handle)
        if code != 0:
            raise DecodeError(f"{self._model.path.name} could not draft at {self._position} (code {code}): use lookup")
        self._state = floats(self._states(self._handle), 1, self._state.shape[1]).copy()
        row: NDArray[np.float32] = floats(api.llama_get_logits(self._handle), 1, self._model.vocabulary.size)[0]
        return row

    def close(self) -> None:
        """Frees the context; calling it again does nothing. Close it before its target."""
        if self._handle:
            self._batch.free()
            api.llama_free(self._handle)
            self._handle = None
