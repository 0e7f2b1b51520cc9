"""The cache of a head: a trained drafter that reads the target's hidden states beside the tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError
from specchat_engine.llama.batch import StateBatch
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.hidden import HiddenStates, staged
from specchat_engine.llama.library import api, floats
from specchat_engine.llama.logs import native_log, read_buffers
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import context_params, new_context
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.attention import Attention
from specchat_engine.prompt.encoding import common_prefix

_NO_LOGITS = np.empty((0, 0), np.float32)


class HeadContext:
    """A model for drafting that reads each token with the hidden state of the token before it.

    The state is the target's where the target has read that token, else the head's own output: while it drafts, each
    pass takes the output of the one before. Tokens that were read with such an output are read again once the target
    has states for them. Tokens whose states nobody has kept are left out.

    It serves EAGLE-3 heads, whose `encoder` turns the target's states into their own width first, and MTP layers, of
    which there may be several: then each drafted token is predicted by the next of these `layers`. Sources: Li et al.,
    arXiv 2503.01840 (EAGLE-3); DeepSeek-AI, arXiv 2412.19437, section 2.2 (MTP).
    """

    def __init__(
        self,
        model: LlamaModel,
        target: LlamaContext,
        states: HiddenStates,
        *,
        n_ctx: int,
        threads: int,
        options: LoadOptions,
    ) -> None:
        """`model` is a file with an EAGLE-3 head, or the target's own model for its MTP layers.

        Raises ModelFileError if llama.cpp cannot make the context, and NativeLibraryError for a missing function.
        """
        self.model = model
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.threads = self.reading_threads = threads
        self.max_rows = 1
        self.encoder = model is not target.model
        self.layers = 1 if self.encoder else max(1, int(api.llama_model_n_layer_nextn(model.handle)))
        self._states = states
        self._outputs = options.k_max + 1
        attention = Attention.of(options, model.header, n_ctx, on_cpu=model.on_cpu)
        params = context_params(options, attention, n_ctx=n_ctx, max_rows=self._outputs, threads=threads)
        params.n_rs_seq = 0
        if self.encoder:
            params.ctx_other = target.handle
        else:
            params.ctx_type = api.LLAMA_CONTEXT_TYPE_MTP
        output, self._choose_layer = staged("llama_set_embeddings_nextn"), staged("llama_set_nextn_layer_offset")
        self._output_states = staged("llama_get_embeddings_nextn")
        self.handle: Any = new_context(model, params, f"no context of {n_ctx} tokens for the head")
        output(self.handle, True, True)
        self.buffers = read_buffers(native_log.sizes)
        self.capacity: int = api.llama_n_ctx(self.handle)
        self._memory = api.llama_get_memory(self.handle)
        self._batch = StateBatch(self.handle)
        self._size: int = min(api.llama_n_batch(self.handle), api.llama_n_ubatch(self.handle))
        self._width = model.header.width
        self._computing = threads, threads
        self._begin = self._with_states = 0
        self._own = self._output = np.zeros((0, self._width), np.float32)

    @property
    def length(self) -> int:
        """How many tokens it has read or left out."""
        return len(self.tokens)

    @property
    def on_gpu(self) -> bool:
        """Whether all of its layers are on a GPU."""
        return self.model.on_gpu

    @property
    def goes_back_freely(self) -> bool:
        """It drops any number of tokens at no cost, but it cannot read what the target has not read."""
        return False

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last one, if `rows` is 1.

        Raises DecodeError if the tokens do not fit or llama.cpp reports a failure; the memory is then empty.
        """
        if not self.handle:
            raise DecodeError("the model was closed: load it again")
        if self.length + len(tokens) > self.capacity:
            raise DecodeError(f"{self.length + len(tokens)} tokens do not fit a head's context of {self.capacity}")
        if self._with_states < self.length and self._with_states <= self._states.end:
            tokens = [*self.tokens[self._with_states :], *tokens]
            self._cut(self._with_states)
        tokens = self._leave_out(tokens, rows)
        known = min(len(tokens), self._states.end + 1 - self.length) if self.length >= self._readable else 0
        logits = _NO_LOGITS
        for start in range(0, known, self._size):
            part = tokens[start : min(start + self._size, known)]
            logits = self._read(part, wanted=start + len(part) == known and (rows > 0 or known < len(tokens)))
        for token in tokens[max(known, 0) :]:
            logits = self._draft(token)
        return logits

    def checkpoint(self) -> None:
        """Nothing: its cache goes back freely."""

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens."""
        self._cut(common_prefix(self.tokens, tokens))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Makes the memory hold exactly these tokens; returns how many it had. Raises Cancelled between two chunks."""
        self.keep(tokens)
        known = self.length
        for start in range(known, len(tokens), self._size):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self.advance(tokens[start : start + self._size], 0)
        return known

    def rewind(self, length: int) -> None:
        """Drops all but the first `length` tokens."""
        self._cut(length)

    def clear(self) -> None:
        """Forgets everything."""
        if self.handle:
            api.llama_memory_clear(self._memory, True)
        self.tokens.clear()
        self._begin = self._with_states = 0
        self._own = self._output = self._own[:0]

    def close(self) -> None:
        """Frees the memory; calling it again does nothing. Close it before its target."""
        if self.handle:
            self._batch.free()
            api.llama_free(self.handle)
            self.handle = None
            self.tokens.clear()

    @property
    def _readable(self) -> int:
        """The first token that can be read with a state that is kept. The first of all has none before it."""
        first = self._states.first
        return first + 1 if first or self.encoder else 0

    def _leave_out(self, tokens: Sequence[int], rows: int) -> Sequence[int]:
        """Passes over tokens whose states are not kept, and forgets those before them. Returns the others."""
        count = min(self._readable - self.length, len(tokens) - rows)
        if count <= 0:
            return tokens
        if self._begin < self.length:
            api.llama_memory_clear(self._memory, True)
        self.tokens += tokens[:count]
        self._begin = self._with_states = self.length
        self._own = self._output = self._own[:0]
        return tokens[count:]

    def _read(self, tokens: Sequence[int], *, wanted: bool) -> NDArray[np.float32]:
        """Reads tokens with the target's states; logits [1, V] of the last if `wanted`.

        llama.cpp computes EAGLE-3's logits of all tokens of a pass, and confuses the rows unless all are asked for.
        """
        if self.encoder and wanted and len(tokens) > self._outputs:
            self._read(tokens[: -self._outputs], wanted=False)
            tokens = tokens[-self._outputs :]
        start = self.length
        states = self._states.rows(max(start - 1, 0), start + len(tokens) - 1)
        if not start:
            states = np.concatenate((np.zeros((1, self._states.width), np.float32), states))
        if self.encoder:
            states = self._encoded(states, start)
        for layer in range(self.layers - 1, 0, -1):
            self._pass(states, tokens, layer, 0)
            self._remove(start)
        logits = self._pass(states, tokens, 0, (len(tokens) if self.encoder else 1) if wanted else 0)
        self.tokens += tokens
        self._with_states, self._own = self.length, self._own[:0]
        return logits

    def _draft(self, token: int) -> NDArray[np.float32]:
        """Reads a token with the head's own output, or with zeros if there is none; its logits [1, V]."""
        output = self._output if len(self._output) else np.zeros((1, self._width), np.float32)
        if self.layers == 1:
            logits = self._pass(output, [token], 0, 1)
            self.tokens.append(token)
            return logits
        # Each layer has keys and values of its own, so the next one reads all that was drafted so far.
        drafted = [*self.tokens[self._with_states :], token]
        self._own = np.concatenate((self._own[: len(drafted) - 1], output))
        self._remove(self._with_states)
        del self.tokens[self._with_states :]
        logits = self._pass(self._own, drafted, min(len(drafted), self.layers - 1), 1)
        self.tokens += drafted
        return logits

    def _encoded(self, states: NDArray[np.float32], start: int) -> NDArray[np.float32]:
        """The target's states [n, its width] in the head's own width. llama.cpp wants, but ignores, their positions."""
        encoded = np.empty((len(states), self._width), np.float32)
        for begin in range(0, len(states), self._outputs):
            part = states[begin : begin + self._outputs]
            fits = self._batch.fill(part, None, start, len(part))
            self._process(api.LLAMA_PROCESS_TYPE_ENCODE, len(part), fits=fits)
            encoded[begin : begin + len(part)] = floats(self._output_states(self.handle), len(part), self._width)
        return encoded

    def _pass(self, states: NDArray[np.float32], tokens: Sequence[int], layer: int, rows: int) -> NDArray[np.float32]:
        """One pass over tokens with their states by one layer; logits [1, V] of the last if any rows are asked for."""
        if self.layers > 1:
            self._choose_layer(self.handle, layer)
        fits = self._batch.fill(states, tokens, self.length, rows)
        self._process(api.LLAMA_PROCESS_TYPE_DECODE, len(tokens), fits=fits)
        self._output = floats(self._output_states(self.handle), rows, self._width)[-1:].copy()
        return floats(api.llama_get_logits(self.handle), rows, self.model.vocabulary.size)[-1:]

    def _process(self, kind: int, count: int, *, fits: bool) -> None:
        threads = self.threads, self.reading_threads if count > self._outputs else self.threads
        if threads != self._computing:
            self._computing = threads
            api.llama_set_n_threads(self.handle, *threads)
        begin = perf_counter_ns()
        code = api.llama_process(self.handle, kind, self._batch.handle) if fits else -1
        api.llama_synchronize(self.handle)
        self.busy_ns += perf_counter_ns() - begin
        if code != 0:
            self._fail(f"llama.cpp could not read {count} tokens at {self.length} with hidden states (code {code})")

    def _cut(self, length: int) -> None:
        """Drops all but the first `length` tokens."""
        if length >= self.length:
            return
        self._remove(length)
        del self.tokens[length:]
        self._begin, self._with_states = min(self._begin, length), min(self._with_states, length)
        self._own, self._output = self._own[: length - self._with_states], self._own[:0]

    def _remove(self, length: int) -> None:
        """Removes all but the first `length` tokens from llama.cpp's memory."""
        if not api.llama_memory_seq_rm(self._memory, 0, length, -1):
            self._fail(f"{self.model.path.name}: the head cannot go back to {length} tokens")

    def _fail(self, reason: str) -> NoReturn:
        self.clear()
        raise DecodeError(f"{reason}: use another drafter")
