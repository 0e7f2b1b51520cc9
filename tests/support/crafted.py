"""A model file that passes every check of the header and still aborts llama.cpp."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.tiny_models import begin_model, byte_vocabulary, end_model

ASSERTION = "GGML_ASSERT(n_embd_head == n_rot) failed"
"""What llama.cpp prints when it creates a context for the model."""


def write_crafted_model(path: Path) -> Path:
    """Writes a qwen3 model that rotates half of each head.

    Its header and tensors agree, but the architecture asserts that whole heads are rotated.
    """
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
