"""A model file that is sound in every way that the gate asks for, and still ends llama.cpp."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.tiny_models import begin_model, byte_vocabulary, end_model

ASSERTION = "GGML_ASSERT(n_embd_head == n_rot) failed"
"""What llama.cpp says of it when it makes a context."""


def write_crafted_model(path: Path) -> Path:
    """A qwen3 model that turns half of each head: header and tensors fit each other, the architecture asserts more."""
    tokens, width, heads, feed_forward = byte_vocabulary(), 64, 4, 128
    writer = begin_model(path, "qwen3", tokens=tokens, layers=1, width=width, n_ctx=256)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads // 2)
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm": (width,),
        "attn_q": (width, width),
        "attn_k": (width, width),
        "attn_v": (width, width),
        "attn_q_norm": (width // heads,),
        "attn_k_norm": (width // heads,),
        "attn_output": (width, width),
        "ffn_norm": (width,),
        "ffn_gate": (feed_forward, width),
        "ffn_up": (feed_forward, width),
        "ffn_down": (width, feed_forward),
    }
    for name, shape in {"token_embd": (len(tokens), width), "output_norm": (width,)}.items():
        writer.add_tensor(f"{name}.weight", np.ones(shape, np.float32))
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(shape, np.float32))
    return end_model(writer, path)
