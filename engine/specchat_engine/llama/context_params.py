"""The parameters of a context in llama.cpp's own structure."""

from __future__ import annotations

from typing import Any

from specchat_engine.llama.library import api
from specchat_engine.llama.rollback import SNAPSHOTS
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.attention import Attention, rounded

_BF16 = 30
"""GGML_TYPE_BF16 of ggml.h, which the binding leaves out."""

_FLASH_ATTENTION = {
    "auto": api.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": api.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": api.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}


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
