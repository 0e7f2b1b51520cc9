"""A projector with random weights for the tiny llamas: it turns any picture into a few embeddings that differ a lot."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import gguf
import numpy as np

IMAGE_TOKENS = 9
"""Three rows of three patches."""

_PATCH, _SIDE = 8, 3


def write_projector(path: Path, *, width: int = 64, seed: int = 9, scale: float = 0.3) -> Path:
    """A CLIP encoder with two layers and LLaVA's projector, for a target of this width."""
    random = np.random.default_rng(seed)
    n_embd, n_ff, layers = 32, 48, 2
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    writer.add_uint32("clip.vision.image_size", _PATCH * _SIDE)
    writer.add_uint32("clip.vision.patch_size", _PATCH)
    writer.add_uint32("clip.vision.embedding_length", n_embd)
    writer.add_uint32("clip.vision.feed_forward_length", n_ff)
    writer.add_uint32("clip.vision.block_count", layers)
    writer.add_uint32("clip.vision.projection_dim", width)
    writer.add_uint32("clip.vision.attention.head_count", 2)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
    writer.add_array("clip.vision.image_std", [0.25, 0.25, 0.25])

    def add(name: str, *shape: int, by: float = 1.0) -> None:
        values = random.standard_normal(shape) * by / np.sqrt(shape[-1])
        writer.add_tensor(name, values.astype(np.float32))

    def linear(name: str, rows: int, columns: int, by: float = 1.0) -> None:
        add(f"{name}.weight", rows, columns, by=by)
        add(f"{name}.bias", rows, by=0.1)

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(n_embd, np.float32))
        writer.add_tensor(f"{name}.bias", np.zeros(n_embd, np.float32))

    add("v.patch_embd.weight", n_embd, 3, _PATCH, _PATCH)
    add("v.class_embd", n_embd)
    add("v.position_embd.weight", _SIDE * _SIDE + 1, n_embd)
    norm("v.pre_ln")
    for layer in range(layers):
        block = f"v.blk.{layer}"
        for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
            linear(f"{block}.{part}", n_embd, n_embd)
        linear(f"{block}.ffn_up", n_ff, n_embd)
        linear(f"{block}.ffn_down", n_embd, n_ff)
        norm(f"{block}.ln1")
        norm(f"{block}.ln2")
    linear("mm.0", width, n_embd)
    linear("mm.2", width, width, by=scale)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def png(seed: int, width: int = 20, height: int = 16) -> bytes:
    """A picture with random pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width * 3), np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
