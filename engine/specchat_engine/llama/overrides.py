"""Metadata that llama.cpp is told instead of what a file says."""

from __future__ import annotations

from typing import Any

from specchat_engine.gguf import Header
from specchat_engine.llama.library import api

_LONGEST_KEY = 127


def without_tokenizer(header: Header) -> Any:
    """What makes llama.cpp leave a file's tokenizer out, and believe in as many tokens as it has: an array for
    `kv_overrides`, to be kept until the model is loaded."""
    none, size, end = overrides = (api.llama_model_kv_override * 3)()
    none.tag, none.key, none.value.val_str = api.LLAMA_KV_OVERRIDE_TYPE_STR, b"tokenizer.ggml.model", b"none"
    size.tag, size.key = api.LLAMA_KV_OVERRIDE_TYPE_INT, f"{header.architecture}.vocab_size".encode()[:_LONGEST_KEY]
    size.value.val_i64 = header.n_vocab
    end.key = b""
    return overrides
