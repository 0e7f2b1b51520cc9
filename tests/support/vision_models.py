"""A projector with random weights for the tiny llamas: it turns any picture into a few embeddings that differ a lot."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import gguf
import numpy as np

from support.tiny_models import TinyModels, begin_model, byte_vocabulary, end_model, write_tiny_model

IMAGE_TOKENS = 9
"""Three rows of three patches."""

_PATCH, _SIDE = 8, 3


def write_projector(path: Path, *, width: int = 64, seed: int = 9, scale: float = 0.3) -> Path:
    """A CLIP encoder with two layers and LLaVA's projector, for a target of this width."""
    writer = _Encoder(path, "mlp", width, seed)
    writer.add("v.class_embd", N_EMBD)
    writer.add("v.position_embd.weight", _SIDE * _SIDE + 1, N_EMBD)
    writer.norm("v.pre_ln")
    writer.linear("mm.0", width, N_EMBD)
    writer.linear("mm.2", width, width, by=scale)
    return writer.end()


def write_mrope_projector(path: Path, *, width: int = 64, seed: int = 9, scale: float = 0.3) -> Path:
    """Qwen2-VL's encoder, whose images are grids of any size. They begin and end with a text."""
    writer = _Encoder(path, "qwen2vl_merger", width, seed)
    writer.add("v.patch_embd.weight.1", N_EMBD, 3, _PATCH, _PATCH)
    writer.norm("v.post_ln")
    writer.linear("mm.0", 4 * N_EMBD, 4 * N_EMBD)
    writer.linear("mm.2", width, 4 * N_EMBD, by=scale)
    return writer.end()


N_EMBD = 32


class _Encoder:
    """A writer with what all encoders have."""

    def __init__(self, path: Path, projector: str, width: int, seed: int) -> None:
        n_ff, layers = 48, 2
        self._path = path
        self._random = np.random.default_rng(seed)
        self._writer = writer = gguf.GGUFWriter(path, "clip")
        writer.add_bool("clip.has_vision_encoder", True)
        writer.add_string("clip.projector_type", projector)
        writer.add_bool("clip.use_gelu", True)
        writer.add_uint32("clip.vision.image_size", _PATCH * _SIDE)
        writer.add_uint32("clip.vision.patch_size", _PATCH)
        writer.add_uint32("clip.vision.embedding_length", N_EMBD)
        writer.add_uint32("clip.vision.feed_forward_length", n_ff)
        writer.add_uint32("clip.vision.block_count", layers)
        writer.add_uint32("clip.vision.projection_dim", width)
        writer.add_uint32("clip.vision.attention.head_count", 2)
        writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
        writer.add_array("clip.vision.image_mean", [0.5, 0.5, 0.5])
        writer.add_array("clip.vision.image_std", [0.25, 0.25, 0.25])
        self.add("v.patch_embd.weight", N_EMBD, 3, _PATCH, _PATCH)
        for layer in range(layers):
            block = f"v.blk.{layer}"
            for part in ("attn_q", "attn_k", "attn_v", "attn_out"):
                self.linear(f"{block}.{part}", N_EMBD, N_EMBD)
            self.linear(f"{block}.ffn_up", n_ff, N_EMBD)
            self.linear(f"{block}.ffn_down", N_EMBD, n_ff)
            self.norm(f"{block}.ln1")
            self.norm(f"{block}.ln2")

    def add(self, name: str, *shape: int, by: float = 1.0) -> None:
        values = self._random.standard_normal(shape) * by / np.sqrt(shape[-1])
        self._writer.add_tensor(name, values.astype(np.float32))

    def linear(self, name: str, rows: int, columns: int, by: float = 1.0) -> None:
        self.add(f"{name}.weight", rows, columns, by=by)
        self.add(f"{name}.bias", rows, by=0.1)

    def norm(self, name: str) -> None:
        self._writer.add_tensor(f"{name}.weight", np.ones(N_EMBD, np.float32))
        self._writer.add_tensor(f"{name}.bias", np.zeros(N_EMBD, np.float32))

    def end(self) -> Path:
        return end_model(self._writer, self._path)


def write_mrope_model(path: Path, *, seed: int = 4, sharpness: float = 0.15, like: int | None = None) -> Path:
    """A qwen2vl, whose positions have three dimensions: an image takes fewer of them than it has tokens."""
    tokens, width, heads, layers = byte_vocabulary(), 64, 4, 2
    random = np.random.default_rng(seed)
    writer = begin_model(path, "qwen2vl", tokens=tokens, layers=layers, width=width, n_ctx=1024)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads // 2)
    writer.add_array("qwen2vl.rope.dimension_sections", [2, 3, 3, 0])
    shared = np.random.default_rng(seed if like is None else like)
    embedding = shared.standard_normal((len(tokens), width)) * sharpness
    writer.add_tensor("token_embd.weight", embedding.astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    sizes = {"attn_q": (width, width), "attn_k": (width // 2, width), "attn_v": (width // 2, width)}
    sizes |= {"attn_output": (width, width), "ffn_gate": (2 * width, width), "ffn_up": (2 * width, width)}
    sizes["ffn_down"] = (width, 2 * width)
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(width, np.float32))
        for name, shape in sizes.items():
            values = random.standard_normal(shape) / np.sqrt(shape[1])
            writer.add_tensor(f"blk.{layer}.{name}.weight", values.astype(np.float32))
        for name in ("attn_q", "attn_k", "attn_v"):
            writer.add_tensor(f"blk.{layer}.{name}.bias", np.zeros(sizes[name][0], np.float32))
    return end_model(writer, path)


def write_seeing_pair(folder: Path, *, mrope: bool = False) -> TinyModels:
    """A tiny llama, or a tiny qwen2vl, with a projector beside it, and a draft model that sometimes agrees with it."""
    draft = write_tiny_model(folder / "draft.gguf", seed=2, like=1, sharpness=0.15, n_ctx=1024)
    if mrope:
        target = write_mrope_model(folder / "target.gguf", seed=7, like=1)
        write_mrope_projector(folder / "mmproj.gguf")
    else:
        target = write_tiny_model(folder / "target.gguf", seed=1, sharpness=0.15, n_ctx=1024)
        write_projector(folder / "mmproj.gguf", scale=1.0)
    return TinyModels(target, draft, stranger=draft)


def png(seed: int, width: int = 20, height: int = 16) -> bytes:
    """A picture with random pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width * 3), np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
