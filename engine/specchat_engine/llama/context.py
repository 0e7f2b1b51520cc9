"""A model's context: the tokens that it has read, and the logits of the last pass."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError, ModelFileError
from specchat_engine.llama.batch import Batch
from specchat_engine.llama.branches import Branches
from specchat_engine.llama.hidden import HiddenStates
from specchat_engine.llama.library import api, floats
from specchat_engine.llama.logs import last_words, native_log, read_buffers
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.rollback import SNAPSHOTS, Rollback, find_ways
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.attention import Attention, rounded
from specchat_engine.prompt.encoding import common_prefix

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

_INVALID = -1
"""The code for a batch that was not read at all, so that the memory is unchanged."""

_MEANINGS = {1: "no room in the memory for the batch", 2: "aborted", -1: "invalid batch"}


class LlamaContext:
    """One sequence of tokens in a model's memory.

    `tokens` mirrors the memory; `buffers` has its size. `busy_ns` is the total time of all passes, including
    synchronisation and nothing else. `rollback_ns` is the total time of checkpoints, cuts and of reading again what a
    rollback lost. A pass gives at most `max_rows` rows of logits: more would end the process in an assertion of
    llama.cpp. `can_go_back` is False if tokens can only be dropped by reading again from the start.

    `states`, where they were asked for, are the hidden states of the tokens, which heads draft from.

    `attention` says how attention is computed. `threads` and `reading_threads`, which read prompts, may be set at any
    time and apply from the next pass on.
    """

    def __init__(
        self, model: LlamaModel, *, n_ctx: int, max_rows: int, threads: int, options: LoadOptions | None = None
    ) -> None:
        """Uses only the batch sizes, flash attention and cache types of the `options`.

        Raises ModelFileError if llama.cpp cannot make the context (usually out of memory) or cannot decode.
        """
        self._options = options = options or LoadOptions()
        self._n_ctx = n_ctx
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.states: HiddenStates | None = None
        self.max_rows = max_rows
        self.threads = self.reading_threads = threads
        self._open(model)

    def _open(self, model: LlamaModel) -> None:
        """Makes llama.cpp's context for a model."""
        n_ctx, max_rows, options = self._n_ctx, self.max_rows, self._options
        self.model = model
        self._computing = self.threads, self.threads
        self.attention = Attention.of(options, model.header, n_ctx, on_cpu=model.on_cpu)
        params = context_params(options, self.attention, n_ctx=n_ctx, max_rows=max_rows, threads=self.threads)
        if max_rows > 1 and model.can_branch:
            params.n_seq_max, params.kv_unified = min(LEAVES, max_rows), True
        self.handle: Any = new_context(model, params, f"no context of {n_ctx} tokens")
        self.buffers = read_buffers(native_log.sizes)
        self.capacity: int = api.llama_n_ctx(self.handle)
        self._memory = api.llama_get_memory(self.handle)
        self._n_vocab = model.vocabulary.size
        self._batch = Batch(api.llama_n_batch(self.handle), params.n_seq_max)
        self._size = self._batch.size
        if not (self._memory and self._batch):
            self.close()
            raise ModelFileError(f"{model.path}: llama.cpp makes no cache for it: it does not generate text")
        self._rollback = Rollback(self.handle, self._memory, model.window)
        self._tree: Branches | None = None
        self._settle()
        self.max_leaves = 1 if self._rollback.bounded else params.n_seq_max

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""
        return len(self.tokens)

    @property
    def on_gpu(self) -> bool:
        """Whether all layers are on a GPU."""
        return self.model.on_gpu

    @property
    def goes_back_freely(self) -> bool:
        """Whether any number of tokens can be dropped at no cost."""
        return not self._rollback.bounded

    def exchange(self, model: LlamaModel) -> LlamaModel:
        """Computes with another model of the same sizes from now on, with an empty memory; returns the one before.

        Raises ModelFileError if llama.cpp cannot make its context, and DecodeError once it is closed.
        """
        self._check_open()
        before = self.model
        self.close()
        try:
            self._open(model)
        except ModelFileError:
            self._open(before)
            raise
        return before

    def hand_out(self, layers: Sequence[int]) -> HiddenStates:
        """Keeps the states of these layers from now on; see `HiddenStates`."""
        header = self.model.header
        depth = api.llama_model_n_layer(self.model.handle)
        self.states = HiddenStates(self.handle, layers, depth=depth, width=header.width, batch_size=self._size)
        return self.states

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last `rows`, overwritten by the next pass.

        Raises DecodeError if the tokens do not fit or llama.cpp reports a failure; the memory is then as before.
        """
        if rows > self.max_rows:
            raise DecodeError(
                f"{rows} rows of logits were asked for, {self.max_rows} are reserved: load with a larger k"
            )
        if rows > 1 and rows - 1 > self._rollback.reach:
            self.checkpoint()
        while len(tokens) > self._size:
            self._decode(tokens[: self._size], 0)
            tokens = tokens[self._size :]
        return self._decode(tokens, rows)

    def advance_tree(self, token: int, tree: Sequence[int], parents: Sequence[int]) -> NDArray[np.float32]:
        """Reads a token and a tree that follows it; logits [n + 1, V], overwritten by the next pass.

        Raises DecodeError as `advance` does, and for a tree with too many leaves.
        """
        rows, start = len(tree) + 1, self.length
        branches = Branches(self._memory, start + 1, tree, parents)
        if rows > self.max_rows or branches.count > self.max_leaves:
            raise DecodeError(
                f"a tree of {len(tree)} tokens with {branches.count} leaves: {self.max_rows - 1} tokens and "
                f"{self.max_leaves} leaves are reserved"
            )
        self._check_room(rows)
        branches.open(start)
        self._batch.fill_tree(token, tree, start, branches)
        self._tree = branches
        logits = self._compute(rows, rows)
        self.tokens.append(token)
        return logits

    def take(self, path: Sequence[int]) -> None:
        """Keeps this path of the tree that was read last. Raises DecodeError if llama.cpp fails to."""
        self._end_tree(path)

    def checkpoint(self) -> None:
        """Makes sure that `rewind` can return to this length or a longer one at little cost, any number of times.

        `advance` does this itself if more than one row is asked for, since drafted tokens may be dropped. Raises
        DecodeError if llama.cpp cannot save the state.
        """
        if self._rollback.bounded and self._rollback.has_checkpoints and self.tokens:
            begin = perf_counter_ns()
            self._rollback.save(len(self.tokens))
            self.rollback_ns += perf_counter_ns() - begin

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens, or less if the memory cannot go back that far."""
        self._forget(common_prefix(self.tokens, tokens))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> None:
        """Makes the memory hold exactly these tokens, keeping the common prefix.

        Raises Cancelled between two chunks; what was read so far stays, so that the next turn can use it.
        """
        self.keep(tokens)
        for start in range(len(self.tokens), len(tokens), self._size):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self._decode(tokens[start : start + self._size], 0)

    def rewind(self, length: int) -> None:
        """Drops all but the first `length` tokens; reads again whatever else had to be dropped for that.

        Raises DecodeError if llama.cpp fails to do what it did in the trial; the memory is then empty.
        """
        self._end_tree()
        if length >= len(self.tokens):
            return
        begin, busy = perf_counter_ns(), self.busy_ns
        lost = self._forget(length)
        if lost:
            for start in range(0, len(lost), self._size):
                self._decode(lost[start : start + self._size], 0)
            api.llama_synchronize(self.handle)
        self.busy_ns = busy
        self.rollback_ns += perf_counter_ns() - begin

    @property
    def state_bytes(self) -> int:
        """The size of the file that `save` would write, without its header. Raises DecodeError once it is closed."""
        self._check_open()
        size: int = api.llama_state_seq_get_size(self.handle, 0)
        return size

    def save(self, path: Path) -> None:
        """Writes the memory to a file. Raises DecodeError if llama.cpp cannot, or once it is closed."""
        self._check_open()
        count = len(self.tokens)
        written = api.llama_state_seq_save_file(
            self.handle, os.fsencode(path), 0, (ctypes.c_int32 * count)(*self.tokens), count
        )
        if not written:
            raise DecodeError(f"{path}: the memory of {count} tokens cannot be saved: is there room on the disk?")

    def restore(self, path: Path) -> bool:
        """Restores the memory from a file that the same model wrote with the same options.

        False, with an empty memory, if llama.cpp rejects the file. The caller must make sure that the file is intact.
        Raises DecodeError once it is closed.
        """
        self._check_open()
        self.clear()
        self.user = None
        tokens, count = (ctypes.c_int32 * self.capacity)(), ctypes.c_size_t(0)
        read = api.llama_state_seq_load_file(
            self.handle, os.fsencode(path), 0, tokens, self.capacity, ctypes.byref(count)
        )
        if not read:
            self.clear()
            return False
        self.tokens = tokens[: count.value]
        return True

    def clear(self) -> None:
        """Forgets everything."""
        self._tree = None
        if self.handle:
            api.llama_memory_clear(self._memory, True)
            self._rollback.forgotten()
        self.tokens.clear()
        if self.states:
            self.states.cut(0)

    def close(self) -> None:
        """Frees the memory; calling it again does nothing."""
        if self.handle:
            self._batch.free()
            api.llama_free(self.handle)
            self.handle = None
            self.tokens.clear()

    def _check_open(self) -> None:
        if not self.handle:
            raise DecodeError("the model was closed: load it again")

    def _end_tree(self, path: Sequence[int] = ()) -> None:
        """Leaves a path of the tree in memory, if there is a tree."""
        branches, self._tree = self._tree, None
        if branches is None:
            return
        begin = perf_counter_ns()
        tokens = branches.close(path)
        if tokens is None:
            self.clear()
            raise DecodeError(f"{self.model.path.name} cannot keep one branch of a tree: use --tree 0 with this model")
        if self.states:
            self.states.take(self.length, path)
        self.tokens += tokens
        self.rollback_ns += perf_counter_ns() - begin

    def _settle(self) -> None:
        """Finds out by a trial how this memory goes back."""
        try:
            self.can_go_back = find_ways(self, self._rollback, self._n_vocab)
        except DecodeError as error:
            self.close()
            raise ModelFileError(f"{self.model.path}: it does not decode: {error}") from error
        if self.max_rows > 1 and self._rollback.reach and not self._rollback.has_checkpoints:
            self.max_rows = min(self.max_rows, self._rollback.reach + 1)
        self.busy_ns = self.rollback_ns = 0

    def _forget(self, length: int) -> list[int]:
        """Goes back to `length` tokens or, if that is impossible, to fewer; returns the tokens lost in between.

        Raises DecodeError if llama.cpp fails; the memory is then empty.
        """
        self._end_tree()
        drop = len(self.tokens) - length
        if drop <= 0:
            return []
        ways = self._rollback
        if ways.can_cut(length, drop):
            back, done = length, ways.cut(length)
        elif 0 < ways.saved <= length:
            back, done = ways.saved, ways.restore()
        else:
            back, done = 0, ways.cut(0)
        if not done:
            self.clear()
            raise DecodeError(f"{self.model.path.name} cannot go back to {length} tokens: use -k 0 with this model")
        lost = self.tokens[back:length]
        del self.tokens[back:]
        if self.states:
            self.states.cut(back)
        return lost

    def _decode(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        self._check_room(len(tokens))
        self._batch.fill(tokens, len(self.tokens), rows)
        logits = self._compute(len(tokens), rows)
        self.tokens += tokens
        if self._rollback.bounded:
            self._rollback.passed(len(tokens))
        return logits

    def _check_room(self, count: int) -> None:
        """Raises DecodeError if the memory cannot take so many more tokens, or once it is closed."""
        self._check_open()
        if self.length + count > self.capacity:
            raise DecodeError(f"{self.length + count} tokens do not fit a context of {self.capacity}: use a larger -c")

    def _compute(self, count: int, rows: int) -> NDArray[np.float32]:
        """Makes a pass over the batch, which holds `count` tokens; logits [rows, V]."""
        start = self.length
        threads = self.threads, self.reading_threads if count - rows > _DRAFTED else self.threads
        if threads != self._computing:
            self._computing = threads
            api.llama_set_n_threads(self.handle, *threads)
        if self.states:
            self.states.expect(count, rows)
        begin = perf_counter_ns()
        code = api.llama_decode(self.handle, self._batch.struct)
        logits: Any = api.llama_get_logits(self.handle) if rows else None
        if self.states and code == 0:
            self.states.record(start, count)
        self.busy_ns += perf_counter_ns() - begin
        if code != 0 or (rows and not logits):
            self._fail(start, count, code)
        return floats(logits, rows, self._n_vocab)

    def _fail(self, length: int, count: int, code: int) -> NoReturn:
        """After a failed pass the memory may hold part of the batch: cuts it, or empties it if a cut is not safe."""
        if self._tree or (code != _INVALID and (self._rollback.bounded or not self._rollback.cut(length))):
            self.clear()
        meaning = _MEANINGS.get(code, "failure") if code >= -1 else native_log.last_error() or "fatal error"
        raise DecodeError(f"llama.cpp could not read {count} tokens at {length}: {meaning} (code {code})")


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


def context_params(options: LoadOptions, attention: Attention, *, n_ctx: int, max_rows: int, threads: int) -> Any:
    """The parameters of a context; uses only the batch size and the cache types of the `options`.

    llama.cpp limits the batch to the requested context before it rounds the context up, so it is rounded here.
    """
    params = api.llama_context_default_params()
    params.n_ctx = rounded(n_ctx)
    params.n_batch = max(options.batch_size, max_rows)
    params.n_ubatch = min(attention.ubatch_size, params.n_batch)
    params.flash_attn_type = _FLASH_ATTENTION[attention.flash]
    params.type_k, params.type_v = _cache_type(options.cache_type_k), _cache_type(options.cache_type_v)
    params.n_outputs_max = max_rows
    params.n_threads = params.n_threads_batch = threads
    params.n_rs_seq = min(max_rows - 1, SNAPSHOTS)
    params.swa_full = True
    return params


def _cache_type(name: str) -> int:
    found: int = _BF16 if name == "bf16" else getattr(api, f"GGML_TYPE_{name.upper()}")
    return found
