"""What is known of loaded models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A loaded model; sizes in bytes, contexts in tokens."""

    name: str
    path: str
    n_params: int = 0
    size_bytes: int = 0
    n_ctx: int = 0
    n_ctx_train: int = 0
    n_vocab: int = 0
    description: str = ""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory of a loaded pair in bytes: 0 without a draft model, None if llama.cpp does not report it.

    Weights count twice if they were copied to another layout beside the mapped file. A cache is reserved at load, for
    the whole context. `compute` is the scratch memory of both models' passes. Each buffer is exact to 0.01 MiB.
    """

    target_weights: int | None = None
    draft_weights: int | None = None
    target_cache: int | None = None
    draft_cache: int | None = None
    compute: int | None = None
