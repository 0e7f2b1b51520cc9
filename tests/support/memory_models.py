"""Tiny GGUF files of architectures without a plain KV cache: random weights, clear gaps between logits.

The names of metadata and tensors are those that llama.cpp's loaders expect.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import gguf
import numpy as np
from numpy.typing import NDArray

from specchat_engine.architectures import SNAPSHOTS
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.machine import has_gpu, this_machine
from specchat_engine.llama.rollback import UNBOUNDED
from support.tiny_models import begin_model, byte_vocabulary, end_model

WIDTH, HEADS, CONV, STATE = 32, 4, 4, 16
HEAD = WIDTH // HEADS
WINDOW = 8
"""The number of tokens that the sliding-window layers see."""


class _Weights:
    """Writes a model's tensors: random ones from a seed, optionally mixed with noise to make a similar model."""

    def __init__(self, writer: gguf.GGUFWriter, seed: int, noise: float) -> None:
        self.writer = writer
        self._own = np.random.default_rng(seed)
        self._other = np.random.default_rng(seed + 1000)
        self._noise = noise

    def matrix(self, name: str, outputs: int, inputs: int, scale: float = 1.0) -> None:
        """A matrix that preserves the norm of its input, times `scale`."""
        self._add(name, (outputs, inputs), scale / np.sqrt(inputs))

    def ones(self, name: str, *shape: int) -> None:
        """The weight of a norm layer."""
        self.writer.add_tensor(name, np.ones(shape, np.float32))

    def spread(self, name: str, low: float, high: float, *shape: int) -> None:
        """Numbers evenly spread over a range, the same in every model."""
        self.writer.add_tensor(name, np.linspace(low, high, int(np.prod(shape)), dtype=np.float32).reshape(shape))

    def table(self, name: str, rows: int, scale: float) -> None:
        """One row for each token."""
        self._add(name, (rows, WIDTH), scale)

    def feed_forward(self, block: str) -> None:
        """A gated feed-forward layer of twice the width."""
        self.matrix(f"{block}.ffn_gate.weight", 2 * WIDTH, WIDTH)
        self.matrix(f"{block}.ffn_up.weight", 2 * WIDTH, WIDTH)
        self.matrix(f"{block}.ffn_down.weight", WIDTH, 2 * WIDTH)

    def attention(self, block: str, *, query: int = 0) -> None:
        """Four heads of queries and two of keys and values; `query` is WIDTH unless it is given."""
        self.matrix(f"{block}.attn_q.weight", query or WIDTH, WIDTH)
        self.matrix(f"{block}.attn_k.weight", 2 * HEAD, WIDTH)
        self.matrix(f"{block}.attn_v.weight", 2 * HEAD, WIDTH, 2.0)
        self.matrix(f"{block}.attn_output.weight", WIDTH, WIDTH, 2.0)

    def head_norms(self, block: str) -> None:
        """Norms of queries and keys."""
        self.ones(f"{block}.attn_q_norm.weight", HEAD)
        self.ones(f"{block}.attn_k_norm.weight", HEAD)

    def _add(self, name: str, shape: tuple[int, ...], scale: float) -> None:
        own: NDArray[np.float64] = self._own.standard_normal(shape)
        other: NDArray[np.float64] = self._other.standard_normal(shape)
        mixed = np.sqrt(1 - self._noise**2) * own + self._noise * other
        self.writer.add_tensor(name, (mixed * scale).astype(np.float32))


def _gemma3(writer: gguf.GGUFWriter, weights: _Weights, layers: int) -> None:
    """Attention, every second layer through a sliding window."""
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_sliding_window(WINDOW)
    writer.add_sliding_window_pattern([layer % 2 == 0 for layer in range(layers)])
    for layer in range(layers):
        block = f"blk.{layer}"
        for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
            weights.ones(f"{block}.{norm}.weight", WIDTH)
        weights.attention(block)
        weights.head_norms(block)
        weights.feed_forward(block)


def _mamba2(writer: gguf.GGUFWriter, weights: _Weights, layers: int) -> None:
    """Recurrent layers only."""
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    inner = 2 * WIDTH
    _ssm(writer, inner=inner, rank=HEADS, groups=1)
    mixed = inner + 2 * STATE
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.matrix(f"{block}.ssm_in.weight", inner + mixed + HEADS, WIDTH)
        weights.matrix(f"{block}.ssm_conv1d.weight", mixed, CONV, 2.0)
        weights.spread(f"{block}.ssm_conv1d.bias", -0.1, 0.1, mixed)
        weights.spread(f"{block}.ssm_dt.bias", -1.0, 1.0, HEADS)
        weights.spread(f"{block}.ssm_a", -0.3, -0.01, HEADS, 1)
        weights.spread(f"{block}.ssm_d", 0.1, 0.3, HEADS, 1)
        weights.ones(f"{block}.ssm_norm.weight", 1, inner)
        weights.matrix(f"{block}.ssm_out.weight", WIDTH, inner, 2.0)


def _jamba(writer: gguf.GGUFWriter, weights: _Weights, layers: int) -> None:
    """Alternating attention and recurrent layers, without snapshots."""
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv([2 if layer % 2 else 0 for layer in range(layers)])
    inner, rank = 2 * WIDTH, HEADS
    _ssm(writer, inner=inner, rank=rank)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.ones(f"{block}.ffn_norm.weight", WIDTH)
        weights.feed_forward(block)
        if layer % 2:
            weights.attention(block)
            continue
        weights.matrix(f"{block}.ssm_in.weight", 2 * inner, WIDTH)
        weights.matrix(f"{block}.ssm_conv1d.weight", inner, CONV, 2.0)
        weights.spread(f"{block}.ssm_conv1d.bias", -0.1, 0.1, inner)
        weights.matrix(f"{block}.ssm_x.weight", rank + 2 * STATE, inner)
        weights.ones(f"{block}.ssm_dt_norm.weight", rank)
        weights.matrix(f"{block}.ssm_dt.weight", inner, rank)
        weights.spread(f"{block}.ssm_dt.bias", -1.0, 1.0, inner)
        weights.ones(f"{block}.ssm_b_norm.weight", STATE)
        weights.ones(f"{block}.ssm_c_norm.weight", STATE)
        weights.spread(f"{block}.ssm_a", -0.3, -0.01, inner, STATE)
        weights.spread(f"{block}.ssm_d", 0.1, 0.3, inner)
        weights.matrix(f"{block}.ssm_out.weight", WIDTH, inner, 2.0)


def _lfm2(writer: gguf.GGUFWriter, weights: _Weights, layers: int) -> None:
    """Alternating attention and short convolutions, with snapshots."""
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv([2 if layer % 2 else 0 for layer in range(layers)])
    writer.add_shortconv_l_cache(CONV)
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.ones(f"{block}.ffn_norm.weight", WIDTH)
        weights.feed_forward(block)
        if layer % 2:
            weights.attention(block)
            weights.head_norms(block)
            continue
        weights.matrix(f"{block}.shortconv.conv.weight", WIDTH, CONV, 2.0)
        weights.matrix(f"{block}.shortconv.in_proj.weight", 3 * WIDTH, WIDTH)
        weights.matrix(f"{block}.shortconv.out_proj.weight", WIDTH, WIDTH, 2.0)


def _qwen35(writer: gguf.GGUFWriter, weights: _Weights, layers: int) -> None:
    """Alternating attention and gated delta nets, with snapshots."""
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_dimension_sections([2, 1, 1, 0])
    writer.add_full_attention_interval(2)
    heads, keys = 4, 2
    inner = heads * STATE
    _ssm(writer, inner=inner, rank=heads, groups=keys)
    mixed = 2 * keys * STATE + inner
    for layer in range(layers):
        block = f"blk.{layer}"
        weights.ones(f"{block}.attn_norm.weight", WIDTH)
        weights.ones(f"{block}.post_attention_norm.weight", WIDTH)
        weights.feed_forward(block)
        if layer % 2:
            weights.attention(block, query=2 * WIDTH)
            weights.head_norms(block)
            continue
        weights.matrix(f"{block}.attn_qkv.weight", mixed, WIDTH)
        weights.matrix(f"{block}.attn_gate.weight", inner, WIDTH)
        weights.matrix(f"{block}.ssm_conv1d.weight", mixed, CONV, 2.0)
        weights.spread(f"{block}.ssm_dt.bias", -1.0, 1.0, heads)
        weights.spread(f"{block}.ssm_a", -0.3, -0.01, heads)
        weights.matrix(f"{block}.ssm_beta.weight", heads, WIDTH)
        weights.matrix(f"{block}.ssm_alpha.weight", heads, WIDTH)
        weights.ones(f"{block}.ssm_norm.weight", STATE)
        weights.matrix(f"{block}.ssm_out.weight", WIDTH, inner, 2.0)


def _ssm(writer: gguf.GGUFWriter, *, inner: int, rank: int, groups: int | None = None) -> None:
    writer.add_ssm_conv_kernel(CONV)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(rank)
    if groups:
        writer.add_ssm_group_count(groups)


_ARCHITECTURES: dict[str, Callable[[gguf.GGUFWriter, _Weights, int], None]] = {
    "gemma3": _gemma3,
    "mamba2": _mamba2,
    "jamba": _jamba,
    "lfm2": _lfm2,
    "qwen35": _qwen35,
}
ARCHITECTURES = tuple(_ARCHITECTURES)


def write_memory_model(path: Path, architecture: str, *, seed: int = 1, noise: float = 0.0, layers: int = 2) -> Path:
    """A model of one of `ARCHITECTURES`. `noise` 0…1 makes it differ from the one with the same seed."""
    tokens = byte_vocabulary()
    writer = begin_model(path, architecture, tokens=tokens, layers=layers, width=WIDTH, n_ctx=4096)
    weights = _Weights(writer, seed, noise)
    weights.table("token_embd.weight", len(tokens), 0.1 if architecture == "gemma3" else 0.5)
    weights.table("output.weight", len(tokens), 0.5)
    weights.ones("token_embd_norm.weight" if architecture == "lfm2" else "output_norm.weight", WIDTH)
    _ARCHITECTURES[architecture](writer, weights, layers)
    return end_model(writer, path)


TOKENS = [40 + number * 7 % 200 for number in range(60)]
CLOSE = 5e-2 if this_machine().gpus() else 2e-2
"""Other batch widths use other kernels, which differ by less than this; those of GPUs multiply in half precision. A
token left in the cache makes a hundred times the difference."""

REACH = {"gemma3": UNBOUNDED, "mamba2": 0, "jamba": 0, "lfm2": SNAPSHOTS, "qwen35": SNAPSHOTS}
RECURRENT = [name for name in ARCHITECTURES if REACH[name] < UNBOUNDED]
WITH_SNAPSHOTS = [name for name in ARCHITECTURES if REACH[name] == SNAPSHOTS]


class Make(Protocol):
    """Makes a context on a model of an architecture."""

    def __call__(self, name: str, max_rows: int = 13, n_ctx: int = 512) -> LlamaContext: ...


def check(context: LlamaContext) -> None:
    """Checks that the next logits equal those after a fresh read of the same tokens."""
    held = list(context.tokens)
    row = context.advance([99], 1)[0].copy()
    context.clear()
    np.testing.assert_allclose(row, context.advance([*held, 99], 1)[0], atol=CLOSE)


_ROUNDED = 0.01 * 2**20


def weights_agree(reported: int | None, size: int) -> bool:
    """Whether F16 weights of `size` bytes are reported correctly, to a hundredth of a MiB.

    The report may lie between one and two sizes if llama.cpp keeps a second copy: a repacked one on some processors,
    and on a GPU one of embeddings that are used at the input and at the output.
    """
    if reported is None:
        return False
    if "F16" in this_machine().repacked or has_gpu():
        return size - _ROUNDED < reported < 2 * size + _ROUNDED
    return abs(reported - size) < _ROUNDED
