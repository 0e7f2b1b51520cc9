"""Estimates how much memory a model will need from its header and the options alone.

The formulas for a pass's working memory were fitted to what llama.cpp 0.3.36 reserves on a CPU for dense models with
and without flash attention, mixtures of experts and state-space models. They are accurate to a few percent; for other
architectures the nearest formula is used. Kernels on a GPU need some more, which is not included.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from specchat_engine.architectures import architecture_of, snapshots_for
from specchat_engine.gguf import GgufHeader, TensorInfo
from specchat_engine.gguf.header import TYPES
from specchat_engine.load_options import HOST, LoadOptions
from specchat_engine.memory.attention import Attention, rounded
from specchat_engine.memory.layers import has_state, layer_memories

MEGABYTE: Final = 2**20
_TOKEN_BYTES, _MERGE_BYTES = 160, 130
"""Bytes of llama.cpp's and our tables for each entry of the vocabulary, measured."""
_PROCESS_BYTES = 7 * MEGABYTE
"""Code and small allocations of a loaded model and its context, measured."""

_FLOAT: Final = 4
_NODE_BYTES: Final = 1250
"""Bytes for each node of the graphs that llama.cpp reserves, measured."""

_CACHE_BITS: Final = {name: 8 * bytes_ / block for name, block, bytes_ in TYPES.values()}
_LAYER: Final = re.compile(r"blk\.(\d+)\.")
_PER_TOKEN: Final = ("token_embd.", "per_layer_token_embd.")
"""Tables whose single rows a pass reads; they stay in main memory."""

REPACKED_X86: Final = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "MXFP4"})
"""Types for which llama.cpp makes a second copy in another layout on CPUs with AVX2."""
REPACKED_ARM: Final = REPACKED_X86 | {"Q5_K", "Q6_K", "Q8_0"}
"""The same for ARM CPUs with dot products."""
TILED: Final = frozenset({"Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"})
"""The same for x86 CPUs with AMX, which multiplies them in tiles."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a model will be used. Its context has room for `texts`, with `n_ctx` tokens in all, and a pass gives `rows`
    rows of logits; `gpu_layers` -1 means all.

    `repacked` are the types that the CPU gets a second copy of, and `overrides` those of `LoadOptions`.
    """

    n_ctx: int
    rows: int = 33
    batch_size: int = 512
    ubatch_size: int = 512
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    flash_attention: bool = True
    gpu_layers: int = 0
    repacked: Collection[str] = ()
    texts: int = 1
    overrides: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(
        cls,
        options: LoadOptions,
        header: GgufHeader,
        *,
        draft_of: GgufHeader | None = None,
        gpu: bool = False,
        repacked: Collection[str] = (),
    ) -> Use:
        """How the engine will use a model, as the target or, with `draft_of`, as a draft; `gpu` if there is one."""
        target = draft_of or header
        n_ctx = options.n_ctx or target.n_ctx_train
        layers = (options.gpu_layers_draft if draft_of else options.gpu_layers) if gpu else 0
        if draft_of:
            n_ctx = min(n_ctx, header.n_ctx_train or n_ctx)
        texts = options.parallel
        n_ctx = texts * rounded(n_ctx) if texts > 1 else n_ctx
        exact = options.exact == "on" and not draft_of
        attention = Attention.of(options, header, n_ctx, on_cpu=not layers, exact=exact)
        return cls(
            n_ctx=n_ctx,
            rows=max(2, texts) if draft_of else texts * (options.k_max + 1),
            texts=texts,
            batch_size=options.batch_size,
            ubatch_size=attention.ubatch_size,
            cache_type_k=options.cache_type_k,
            cache_type_v=options.cache_type_v,
            flash_attention=attention.flash != "off",
            gpu_layers=layers,
            repacked=() if exact else repacked,
            overrides=() if draft_of else options.overrides,
        )

    def puts_on_gpu(self, name: str, *, usually: bool) -> bool:
        """Whether a tensor goes to a GPU if, without overrides, it `usually` does."""
        device = next((device for pattern, device in self.overrides if re.search(pattern, name)), None)
        return usually if device is None else device.upper() != HOST


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes by purpose. `repacked` is the second copy of weights that some CPUs work on."""

    weights: int = 0
    repacked: int = 0
    cache: int = 0
    compute: int = 0
    other: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.repacked + self.cache + self.compute + self.other


@dataclass(frozen=True, slots=True)
class Footprint:
    """A model's share of main memory and of the GPUs' memory; `layers` are on GPUs, the output counted as one."""

    host: MemoryNeed
    gpu: MemoryNeed
    layers: int

    @property
    def total(self) -> int:
        """All of it, in bytes."""
        return self.host.total + self.gpu.total


def estimate(header: GgufHeader, use: Use) -> Footprint:
    """The memory that the engine will need for a model; accurate to about 10 % on CPUs, less on GPUs.

    A split model's header must have the tensors of all its files, as `gguf.read_model` returns it.
    """
    layers = header.layers
    offloaded = layers + 1 if use.gpu_layers < 0 else min(use.gpu_layers, layers + 1)
    first = layers + 1 - offloaded
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    host = gpu = repacked = 0
    for tensor in header.tensors:
        size, table = tensor.size or 0, tensor.name.startswith(_PER_TOKEN)
        on_gpu = use.puts_on_gpu(tensor.name, usually=not table and _place(tensor, layers) >= first)
        if on_gpu:
            gpu += size
        else:
            host += size
            repacked += size if not table and _is_repacked(tensor, use.repacked) else 0
        if tied and offloaded and tensor.name == "token_embd.weight":
            gpu += size
    caches = _cache_bytes(header, use)
    compute = _compute_bytes(header, use)
    outputs = _FLOAT * use.rows * header.n_vocab
    merges = len(header.texts("tokenizer.ggml.merges"))
    tables = _TOKEN_BYTES * header.n_vocab + _MERGE_BYTES * merges
    return Footprint(
        host=MemoryNeed(
            weights=host,
            repacked=repacked,
            cache=sum(caches[:first]),
            compute=outputs + (0 if offloaded > layers else compute),
            other=tables + _graph_bytes(header, use.ubatch_size) + _PROCESS_BYTES,
        ),
        gpu=MemoryNeed(weights=gpu, cache=sum(caches[first:]), compute=compute if offloaded else 0),
        layers=offloaded,
    )


def _place(tensor: TensorInfo, layers: int) -> int:
    """The layer of a tensor; the output counts as one more."""
    match = _LAYER.match(tensor.name)
    return int(match[1]) if match else layers


def _is_repacked(tensor: TensorInfo, types: Collection[str]) -> bool:
    return tensor.type_name in types and len(tensor.shape) > 1 and tensor.shape[1] % 8 == 0


def _cache_bytes(header: GgufHeader, use: Use) -> list[int]:
    """The bytes that each layer keeps for the whole context."""
    cells = rounded(use.n_ctx)
    keys, values = (_CACHE_BITS[name.upper()] for name in (use.cache_type_k, use.cache_type_v))
    copies = 1
    if has_state(header):
        rows = use.rows // use.texts
        snapshots = snapshots_for(rows, use.texts) if architecture_of(header.architecture).snapshots else 0
        copies = use.texts * (copies + (snapshots or 1))
    return [
        int(cells * (layer.keys * keys + layer.values * values) / 8) + copies * _FLOAT * layer.state
        for layer in layer_memories(header)
    ]


def _compute_bytes(header: GgufHeader, use: Use) -> int:
    """Bytes of the compute buffer at its fullest moment."""
    n_ctx, flash = rounded(use.n_ctx), use.flash_attention
    tokens = min(use.ubatch_size, use.batch_size, n_ctx)
    heads = max(header.heads, default=0)
    kv_heads = max(header.kv_heads, default=0)
    width = header.width
    head = header.of_model("attention.key_length") or (width // heads if heads else 0)
    masks = 2 if header.window else 1
    inside = max(_feed_forward(header), _state_space(header))
    mask = 0
    if heads:
        query = heads * head
        mask = masks * n_ctx * tokens * (2 if flash else _FLOAT)
        attention = 2 * width + 3 * query + 2 * kv_heads * head
        scores = 0 if flash else n_ctx * heads
        inside = max(inside, attention + scores)
    logits = _FLOAT * (min(use.rows, tokens) * header.n_vocab + tokens * width)
    return max(mask + _FLOAT * tokens * inside, logits)


def _graph_bytes(header: GgufHeader, n_ubatch: int) -> int:
    """Bytes of llama.cpp's bookkeeping for its graphs."""
    tensors = len(header.tensors)
    if architecture_of(header.architecture).many_nodes:
        return _NODE_BYTES * max(40 * n_ubatch, 32 * tensors)
    return _NODE_BYTES * max(1024, 8 * tensors)


def _feed_forward(header: GgufHeader) -> int:
    """Numbers for each token at the fullest moment of a feed-forward layer."""
    width, wide = header.width, max(header.per_layer("feed_forward_length"), default=0)
    architecture = architecture_of(header.architecture)
    extra = width if header.window or architecture.many_nodes or architecture.extra_copy else 0
    if not header.experts:
        return 3 * wide + max(2 * width, wide) + extra
    used = max(header.per_layer("expert_used_count"), default=0)
    expert = header.of_model("expert_feed_forward_length") or wide
    return max(3 * used * expert + 4 * width, 2 * used * width + 2 * width) + extra


def _state_space(header: GgufHeader) -> int:
    """Numbers for each token at the fullest moment of a state-space layer."""
    inner, size = header.of_model("ssm.inner_size") or 0, header.of_model("ssm.state_size") or 0
    if not inner or architecture_of(header.architecture).many_nodes:
        return 0
    rank, groups = header.of_model("ssm.time_step_rank") or 0, header.of_model("ssm.group_count") or 0
    if not groups:
        return 6 * inner + header.width + rank + 2 * size
    mixed = inner + 2 * groups * size
    return (inner + mixed + rank) + 2 * mixed + 2 * inner + header.width
