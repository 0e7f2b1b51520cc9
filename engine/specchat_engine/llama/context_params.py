"""How a context is made, in llama.cpp's own structure."""

from __future__ import annotations

from typing import Any

from specchat_engine.llama.library import api
from specchat_engine.llama.rollback import SNAPSHOTS
from specchat_engine.options import LoadOptions

_BF16 = 30
"""GGML_TYPE_BF16 of ggml.h, which the binding leaves out."""

_FLASH_ATTENTION = {
    "auto": api.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": api.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": api.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
_CELLS = 256
"""llama.cpp makes memories in such steps, and clamps the batch to what was asked for before it rounds up."""


def context_params(options: LoadOptions, *, n_ctx: int, max_rows: int, threads: int) -> Any:
    """The parameters of a context; of the `options` only batch sizes, flash attention and cache types count."""
    params = api.llama_context_default_params()
    params.n_ctx = -(-n_ctx // _CELLS) * _CELLS
    params.n_batch = max(options.batch_size, max_rows)
    params.n_ubatch = min(options.ubatch_size, params.n_batch)
    params.flash_attn_type = _FLASH_ATTENTION[options.flash_attention]
    params.type_k, params.type_v = _cache_type(options.cache_type_k), _cache_type(options.cache_type_v)
    params.n_outputs_max = max_rows
    params.n_threads = params.n_threads_batch = threads
    params.n_rs_seq = min(max_rows - 1, SNAPSHOTS)
    params.swa_full = True
    return params


def _cache_type(name: str) -> int:
    found: int = _BF16 if name == "bf16" else getattr(api, f"GGML_TYPE_{name.upper()}")
    return found
