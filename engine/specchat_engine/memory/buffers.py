"""The memory of a pass: what lies in the compute buffer at its fullest moment, for the widest pass.

The formulas were fitted to what llama.cpp 0.3.36 reserves on a CPU, for dense models with and without flash attention,
mixtures of experts and state-space models, and meet these to a few percent; other architectures are taken for the
nearest of them. A GPU's kernels need some more, which is not in here.
"""

from __future__ import annotations

from typing import Final

from specchat_engine.gguf import Header

FLOAT: Final = 4
NODE_BYTES: Final = 1250
"""Bytes for each node that llama.cpp reserves for its graphs, measured."""

_MANY_NODES: Final = frozenset(
    {"qwen3next", "kimi-linear", "bailingmoe3", "qwen35", "qwen35moe", "qwen4exp", "deepseek4", "minimax-01"}
)


def compute_bytes(header: Header, *, n_ctx: int, n_ubatch: int, rows: int, flash: bool) -> int:
    """Bytes of the compute buffer for passes of up to `n_ubatch` tokens and `rows` rows of logits."""
    tokens = min(n_ubatch, n_ctx)
    heads = max(header.heads, default=0)
    kv_heads = max(header.kv_heads, default=0)
    width = header.width
    head = header.of_model("attention.key_length") or (width // heads if heads else 0)
    masks = 2 if header.window else 1
    inside = max(_feed_forward(header), _state_space(header))
    mask = 0
    if heads:
        query = heads * head
        mask = masks * n_ctx * tokens * (2 if flash else FLOAT)
        attention = 2 * width + 3 * query + 2 * kv_heads * head
        scores = 0 if flash else n_ctx * heads
        inside = max(inside, attention + scores)
    logits = FLOAT * (min(rows, tokens) * header.n_vocab + tokens * width)
    return max(mask + FLOAT * tokens * inside, logits)


def graph_bytes(header: Header, n_ubatch: int) -> int:
    """Bytes of llama.cpp's book-keeping for its graphs."""
    tensors = len(header.tensors)
    if header.architecture in _MANY_NODES:
        return NODE_BYTES * max(40 * n_ubatch, 32 * tensors)
    return NODE_BYTES * max(1024, 8 * tensors)


def _feed_forward(header: Header) -> int:
    """Numbers for each token at the fullest moment of a feed-forward layer."""
    width, wide = header.width, max(header.per_layer("feed_forward_length"), default=0)
    extra = width if header.window or header.architecture in _MANY_NODES or "lfm2" in header.architecture else 0
    if not header.experts:
        return 3 * wide + max(2 * width, wide) + extra
    used = max(header.per_layer("expert_used_count"), default=0)
    expert = header.of_model("expert_feed_forward_length") or wide
    return max(3 * used * expert + 4 * width, 2 * used * width + 2 * width) + extra


def _state_space(header: Header) -> int:
    """Numbers for each token at the fullest moment of a state-space layer."""
    inner, size = header.of_model("ssm.inner_size") or 0, header.of_model("ssm.state_size") or 0
    if not inner or header.architecture in _MANY_NODES:
        return 0
    rank, groups = header.of_model("ssm.time_step_rank") or 0, header.of_model("ssm.group_count") or 0
    if not groups:
        return 6 * inner + header.width + rank + 2 * size
    mixed = inner + 2 * groups * size
    return (inner + mixed + rank) + 2 * mixed + 2 * inner + header.width
