"""llama.cpp's context: the memory of one text or of several, and passes over them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from specchat_engine.architectures import snapshots_for
from specchat_engine.errors import DecodeError, ModelFileError
from specchat_engine.llama.batch import Batch, PassPart
from specchat_engine.llama.kernels import exact_kernels
from specchat_engine.llama.library import api, floats
from specchat_engine.llama.logs import last_words, native_log, read_buffers
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vision import Vision
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.attention import Attention, rounded

_BF16 = 30
"""GGML_TYPE_BF16 of ggml.h, which the binding leaves out."""

_FLASH_ATTENTION = {
    "auto": api.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": api.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": api.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}

LEAVES = 16
"""The most leaves of a tree that a pass reads."""

_DRAFTED = 32
"""A pass with more tokens than this without logits reads a prompt."""


_WITHOUT_LOGITS = -2
"""The code for a pass that was made but has no logits; also llama.cpp's own for a failure after a part was read."""


@dataclass(frozen=True, slots=True)
class PassResult:
    """What a pass gave: the code of llama.cpp, 0 for success, the logits [rows, V] of each part, and its time."""

    code: int
    logits: Sequence[NDArray[np.float32]]
    nanoseconds: int


class NativeContext:
    """One context of llama.cpp with room for several texts of `capacity` tokens each.

    A pass gives at most `max_rows` rows of logits for each text: more would end the process in an assertion. `buffers`
    has its size, and `attention` says how attention is computed. Prompts are read `step` tokens at a time: on a CPU as
    many as llama.cpp computes in one go, since that may take a second. `threads` and `reading_threads`, which read
    prompts, may be set at any time and apply from the next pass on.
    """

    def __init__(
        self,
        model: LlamaModel,
        *,
        n_ctx: int,
        max_rows: int,
        threads: int,
        options: LoadOptions | None = None,
        texts: int = 1,
        shared: bool = True,
    ) -> None:
        """Uses only the batch sizes, flash attention and cache types of the `options`.

        Texts that have a `shared` memory can begin alike at no cost, but each row of a pass is compared with the cells
        of all of them. Without it llama.cpp makes one pass only over texts in ascending order and without gaps.

        Raises ModelFileError if llama.cpp cannot make the context, usually out of memory.
        """
        self._options, self._n_ctx = options or LoadOptions(), n_ctx
        self.max_rows = max_rows
        self.threads = self.reading_threads = threads
        self.texts, self._shared = texts, shared
        self.open(model)

    def open(self, model: LlamaModel) -> None:
        """Makes llama.cpp's context for a model."""
        texts, options = self.texts, self._options
        n_ctx = texts * rounded(self._n_ctx)
        self.model = model
        self._computing = self.threads, self.threads
        self.attention = Attention.of(options, model.header, n_ctx, on_cpu=model.on_cpu, exact=model.exact)
        params = context_params(
            options, self.attention, n_ctx=n_ctx, max_rows=self.max_rows, threads=self.threads, texts=texts
        )
        branches = model.can_branch and texts == 1 and not model.exact  # a branch's cells lie in another order
        self.leaves = min(LEAVES, self.max_rows) if self.max_rows > 1 and branches else 1
        if texts > 1 or self.leaves > 1:
            params.n_seq_max, params.kv_unified = max(texts, self.leaves), self._shared
        with exact_kernels() if model.exact else nullcontext():
            self.handle: Any = new_context(model, params, f"no context of {n_ctx} tokens")
        self.buffers = read_buffers(native_log.sizes)
        self.capacity: int = api.llama_n_ctx(self.handle) // texts
        self.memory = api.llama_get_memory(self.handle)
        self._batch = Batch(api.llama_n_batch(self.handle), params.n_seq_max)
        self.size = self._batch.size
        self.step = min(self.size, api.llama_n_ubatch(self.handle)) if model.on_cpu else self.size
        if not (self.memory and self._batch):
            self.close()
            raise ModelFileError(f"{model.path}: llama.cpp makes no cache for it: it does not generate text")

    def compute(self, parts: Sequence[PassPart]) -> PassResult:
        """Makes one pass over these parts, at most `size` tokens; the next pass overwrites the logits.

        Raises DecodeError once the context is closed.
        """
        self.check_open()
        self._batch.fill(parts)
        count, rows = sum(len(part.tokens) for part in parts), sum(part.rows for part in parts)
        threads = self.threads, self.reading_threads if count - rows > _DRAFTED else self.threads
        self._compute_with(threads)
        begin = perf_counter_ns()
        code = api.llama_decode(self.handle, self._batch.struct)
        pointer: Any = api.llama_get_logits(self.handle) if rows else None
        took = perf_counter_ns() - begin
        if code == 0 and rows and not pointer:
            code = _WITHOUT_LOGITS
        logits = floats(pointer, rows if code == 0 else 0, self.model.vocabulary.size)
        ends = np.cumsum([part.rows for part in parts])
        return PassResult(code, [logits[end - part.rows : end] for part, end in zip(parts, ends, strict=True)], took)

    def compute_image(self, vision: Vision, first: int, start: int, sequence: int) -> tuple[int, int]:
        """Reads the image, or the part of one, whose ids begin with this one: llama.cpp's code, and the time it took.

        Raises DecodeError once the context is closed, and if the image cannot be computed.
        """
        self.check_open()
        self._compute_with((self.threads, self.reading_threads))
        begin = perf_counter_ns()
        code = vision.decode(self.handle, first, start, sequence, self.size)
        return code, perf_counter_ns() - begin

    def _compute_with(self, threads: tuple[int, int]) -> None:
        if threads != self._computing:
            self._computing = threads
            api.llama_set_n_threads(self.handle, *threads)

    def check_open(self) -> None:
        """Raises DecodeError once it is closed."""
        if not self.handle:
            raise DecodeError("the model was closed: load it again")

    def close(self) -> None:
        """Frees the memory; calling it again does nothing."""
        if self.handle:
            self._batch.free()
            api.llama_free(self.handle)
            self.handle = None


def new_context(model: LlamaModel, params: Any, failure: str) -> Any:
    """llama.cpp's context; without snapshots of a recurrent state if it cannot have them. Raises ModelFileError."""
    last_words.about(model.path)
    for snapshots in dict.fromkeys((params.n_rs_seq, 0)):
        params.n_rs_seq = snapshots
        native_log.clear()
        if handle := api.llama_init_from_model(model.handle, params):
            return handle
    reason = native_log.last_error() or "not enough memory"
    raise ModelFileError(f"{model.path}: {failure}: {reason}; try a smaller -c")


def context_params(
    options: LoadOptions, attention: Attention, *, n_ctx: int, max_rows: int, threads: int, texts: int = 1
) -> Any:
    """The parameters of a context with `max_rows` rows of logits for each of its texts; uses only the batch size and
    the cache types of the `options`.

    llama.cpp limits the batch to the requested context before it rounds the context up, so it is rounded here.
    """
    params = api.llama_context_default_params()
    params.n_ctx = rounded(n_ctx)
    params.n_outputs_max = texts * max_rows
    params.n_batch = max(options.batch_size, params.n_outputs_max)
    params.n_ubatch = min(attention.ubatch_size, params.n_batch)
    params.flash_attn_type = _FLASH_ATTENTION[attention.flash]
    params.type_k, params.type_v = _cache_type(options.cache_type_k), _cache_type(options.cache_type_v)
    params.n_threads = params.n_threads_batch = threads
    params.n_rs_seq = snapshots_for(max_rows, texts)
    params.swa_full = True
    return params


def _cache_type(name: str) -> int:
    type_id: int = _BF16 if name == "bf16" else getattr(api, f"GGML_TYPE_{name.upper()}")
    return type_id
