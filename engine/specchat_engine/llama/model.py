"""A GGUF file, loaded.

Its weights go into huge pages: a pass reads all of them, and looks up an address for each 4 KB otherwise. Linux gives
huge pages to those who ask before they write, which llama.cpp does not. It can also move what was written
(`MADV_COLLAPSE`, since Linux 6.1), at about 2 GB/s. Files that are mapped are left to the page cache.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from specchat_engine.errors import Cancelled, ModelFileError
from specchat_engine.gguf import GgufHeader, read_model
from specchat_engine.llama.kernels import exact_kernels
from specchat_engine.llama.library import api
from specchat_engine.llama.logs import last_words, native_log, read_weights
from specchat_engine.llama.machine import device_array, has_gpu, may_repack, override_array
from specchat_engine.llama.vocabulary import Vocabulary


class LlamaModel:
    """The weights and metadata of one model. `close` frees them; close its contexts first.

    `header` was read before llama.cpp saw the file. `window` is the number of tokens that sliding-window layers see, 0
    without such layers. `size_bytes` is the size of the weights in the file, `weight_bytes` their size in memory.
    `on_gpu` says whether the whole model is on a GPU, `on_cpu` whether none of it is. `exact` says that it is computed
    without what makes the bits of a pass depend on its width.
    """

    def __init__(
        self,
        path: Path,
        *,
        gpu_layers: int = -1,
        devices: Sequence[str] = (),
        tensor_split: Sequence[float] = (),
        main_gpu: int = 0,
        overrides: Sequence[tuple[str, str]] = (),
        progress: Callable[[float], bool] | None = None,
        header: GgufHeader | None = None,
        tokenizer: bool = True,
        own_head: bool = False,
        vocabulary_only: bool = False,
        exact: bool = False,
        apart: bool = False,
    ) -> None:
        """Loads a file. `gpu_layers` -1 offloads all that the build can; `progress` gets 0…1 and returns False to stop.
        `overrides` are those of `LoadOptions`.

        `header` is the file's, if it was read before. Without its `tokenizer` the model knows token ids only, and its
        vocabulary has just a size; a large tokenizer takes 25 MB and a few tenths of a second. `own_head` loads the
        layers for multi-token prediction too, and `vocabulary_only` no weights at all. `apart` promises that PyTorch
        never computes in the thread that makes the passes.

        Raises ModelFileError if the file cannot be used, SettingError for an unknown device, and Cancelled.
        """
        self.header = header or read_model(path)
        self.path = path
        self.exact = exact
        params = api.llama_model_default_params()
        params.n_gpu_layers = gpu_layers
        params.main_gpu = main_gpu
        params.load_mtp = own_head
        params.vocab_only = vocabulary_only
        params.use_extra_bufts = may_repack(self.header, apart=apart) and not exact
        keep = [device_array(devices)]
        if keep[0] is not None:
            params.devices = ctypes.cast(keep[0], ctypes.c_void_p)
        if tensor_split:
            shares = (ctypes.c_float * max(api.llama_max_devices(), len(tensor_split)))(*tensor_split)
            params.tensor_split = shares
            keep.append(shares)
        if (placed := override_array(overrides)) is not None:
            params.tensor_buft_overrides = ctypes.cast(placed, ctypes.c_void_p)
            keep.append(placed)
        if not tokenizer:
            keep.append(without_tokenizer(self.header))
            params.kv_overrides = keep[-1]
        stopped = False

        def report(share: float, _: Any) -> bool:
            nonlocal stopped
            stopped = progress is not None and not progress(share)
            return not stopped

        params.progress_callback = api.llama_progress_callback(report)
        native_log.clear()
        last_words.about(path)
        with exact_kernels() if exact else nullcontext(), in_huge_pages():
            self.handle: Any = api.llama_model_load_from_file(os.fsencode(path), params)
        if not self.handle:
            if stopped:
                raise Cancelled(f"loading {path} was stopped")
            reason = native_log.last_error() or "llama.cpp gives no reason"
            raise ModelFileError(f"{path} could not be loaded: {reason}; try the file with another download or build")
        self.vocabulary = Vocabulary(api.llama_model_get_vocab(self.handle))
        self.n_params: int = api.llama_model_n_params(self.handle)
        self.size_bytes: int = api.llama_model_size(self.handle)
        self.weight_bytes = read_weights(native_log.sizes) or self.size_bytes
        self.n_ctx_train: int = api.llama_model_n_ctx_train(self.handle)
        self.description = self._text(api.llama_model_desc)
        whole = gpu_layers < 0 or gpu_layers > api.llama_model_n_layer(self.handle)
        gpu = has_gpu(devices)
        self.on_gpu, self.on_cpu = whole and gpu and not overrides, not (gpu and gpu_layers)
        self.window: int = api.llama_model_n_swa(self.handle)
        self.can_branch = not (api.llama_model_is_recurrent(self.handle) or api.llama_model_is_hybrid(self.handle))
        template = api.llama_model_chat_template(self.handle, None)
        self.chat_template: str | None = template.decode("utf-8", "replace") if template else None

    def metadata(self, key: str) -> str | None:
        """One metadata value as text, None if the file does not have the key. Raises DecodeError once it is closed."""
        self.vocabulary.check_open()
        name = key.encode()
        length = api.llama_model_meta_val_str(self.handle, name, None, 0)
        if length < 0:
            return None
        buffer = ctypes.create_string_buffer(length + 1)
        if api.llama_model_meta_val_str(self.handle, name, buffer, len(buffer)) < 0:
            return None
        return buffer.value.decode("utf-8", "replace")

    def close(self) -> None:
        """Frees the weights; calling it again does nothing."""
        if self.handle:
            self.vocabulary.close()
            api.llama_model_free(self.handle)
            self.handle = None

    def _text(self, function: Any) -> str:
        buffer = ctypes.create_string_buffer(256)
        written = function(self.handle, buffer, len(buffer))
        return buffer.value.decode("utf-8", "replace") if written >= 0 else ""


_LONGEST_KEY = 127


def without_tokenizer(header: GgufHeader) -> Any:
    """An array for `kv_overrides` that makes llama.cpp skip the file's tokenizer but keep its number of tokens.

    Keep the array alive until the model is loaded.
    """
    none, size, end = overrides = (api.llama_model_kv_override * 3)()
    none.tag, none.key, none.value.val_str = api.LLAMA_KV_OVERRIDE_TYPE_STR, b"tokenizer.ggml.model", b"none"
    size.tag, size.key = api.LLAMA_KV_OVERRIDE_TYPE_INT, f"{header.architecture}.vocab_size".encode()[:_LONGEST_KEY]
    size.value.val_i64 = header.n_vocab
    end.key = b""
    return overrides


_COLLAPSE = 25
_PAGE = 2**21
"""The size of a huge page on x86 and usually on Arm. Elsewhere the system refuses the call."""

_LEAST = 4 * _PAGE
"""What is smaller stays where it is."""


@contextmanager
def in_huge_pages() -> Iterator[None]:
    """Moves what is allocated meanwhile into huge pages. Does nothing where the system cannot, or lacks the memory."""
    before = _private_memory()
    yield
    if after := _private_memory() - before:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for begin, end in after:
            madvise(begin, end - begin, _COLLAPSE)


def _private_memory() -> set[tuple[int, int]]:
    """The first and the last address of large memory without a file, in whole pages; none but on Linux."""
    try:
        lines = Path("/proc/self/maps").read_bytes().splitlines()
    except OSError:
        return set()
    regions = set()
    for span, access, *_, last in (line.split() for line in lines):
        begin, end = (int(address, 16) for address in span.split(b"-"))
        begin, end = -(-begin // _PAGE) * _PAGE, end // _PAGE * _PAGE
        if access == b"rw-p" and last == b"0" and end - begin >= _LEAST:
            regions.add((begin, end))
    return regions
