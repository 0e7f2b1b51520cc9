"""Checks what llama.cpp asserts about a header: a failed assertion would end the process instead of being an error.

The conditions come from llama.cpp's load_hparams and its loaders of architectures. Check them again when the pinned
version changes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Final

import numpy as np

from specchat_engine.architectures import architecture_of
from specchat_engine.errors import HeaderError
from specchat_engine.gguf.header import TYPES, GgufHeader

_MAX_LAYERS, _MAX_EXPERTS = 512, 1024
"""LLAMA_MAX_LAYERS and LLAMA_MAX_EXPERTS."""

_SCALINGS: Final = ("none", "linear", "yarn", "longrope")

_MOST: Final = {
    "context_length": 2**24,
    "embedding_length": 2**20,
    "feed_forward_length": 2**24,
    "attention.head_count": 2**16,
    "attention.head_count_kv": 2**16,
    "attention.key_length": 2**16,
    "attention.value_length": 2**16,
    "attention.sliding_window": 2**31 - 1,
    "rope.dimension_count": 2**16,
    "ssm.conv_kernel": 2**10,
    "ssm.inner_size": 2**20,
    "ssm.state_size": 2**20,
    "ssm.time_step_rank": 2**20,
    "ssm.group_count": 2**20,
    "shortconv.l_cache": 2**10,
}
"""More than any model has, and small enough that products of two stay far below 2^63."""
_NOT_MULTIPLIED = frozenset({"Q8_1", "Q8_K", "I8", "I16", "I32", "I64", "F64"})
"""Types without a `vec_dot` in ggml-cpu.c: a product with such weights calls a null pointer."""
_TABLES = re.compile(r"d2t|masked_embd_ordering|blk\.\d+\.ffn_gate_tid2eid")
"""Tensors that hold ids, not weights: llama.cpp only looks rows up in them. Their names may end in `.weight`."""


def check_loadable(header: GgufHeader, name: str) -> None:
    """Raises HeaderError if this header would crash native code. `name` is the file's, for the message."""
    if header.byte_order != sys.byteorder:
        seen = int.from_bytes(header.version.to_bytes(4, "big"), "little")
        raise HeaderError(
            f"{name} is GGUF version {seen} to this machine: its numbers are {header.byte_order}-endian; "
            f"use a file made for {sys.byteorder}-endian machines"
        )
    for problem in _problems(header):
        raise HeaderError(f"{name} could not be loaded: {problem}; try the file with another download or build")


def _problems(header: GgufHeader) -> Iterator[str]:
    for key, value in header.metadata.items():
        if isinstance(value, tuple):
            yield f"{key[:64]!r} holds arrays in arrays, which llama.cpp cannot read"
    for tensor in header.tensors:
        if tensor.type not in TYPES:
            yield f"tensor {tensor.name!r} is of the unknown {tensor.type_name}"
        elif tensor.type_name in _NOT_MULTIPLIED and not _TABLES.fullmatch(tensor.name.removesuffix(".weight")):
            yield f"tensor {tensor.name!r} is of type {tensor.type_name}, which llama.cpp cannot multiply with"
    if header.tensors and header.integer("split.no") in (None, 0):
        yield from _hyperparameters(header)
        yield from _attention(header)
        yield from _states(header)
        if header.layers and not header.n_ctx_train:
            yield "it does not say how long its context is"
    if header.tokens.has_twins:
        yield "its vocabulary has an entry twice"
    if header.tokenizer in ("llama", "rwkv") and len(header.tokens):
        yield from _bytes(header)


def _hyperparameters(header: GgufHeader) -> Iterator[str]:
    prefix = header.architecture
    layers = header.of_model("block_count")
    if layers is not None and not 0 < layers <= _MAX_LAYERS:
        yield f"it has {layers} layers, only 1 to {_MAX_LAYERS} can be loaded"
    if not 0 <= (header.of_model("nextn_predict_layers") or 0) <= (layers or 0):
        yield "it has more prediction layers than layers"
    experts, groups = header.experts, header.of_model("expert_group_count") or 0
    used = header.per_layer("expert_used_count")
    if not 0 <= experts <= _MAX_EXPERTS or any(not 0 <= count <= experts for count in used):
        yield f"it uses {max(used, default=0)} of {experts} experts, at most {_MAX_EXPERTS} can be loaded"
    if experts and not max(used, default=0):
        yield f"it has {experts} experts and uses none"
    if groups and (groups >= experts or experts % groups):
        yield f"it has {experts} experts in {groups} groups"
    if groups > 1 and not 0 < (header.of_model("expert_group_used_count") or 0) < groups:
        yield f"it uses {header.of_model('expert_group_used_count')} of {groups} groups of experts"
    if (header.text(f"{prefix}.rope.scaling.type") or "linear") not in _SCALINGS:
        yield f"its rope scaling is none of {', '.join(_SCALINGS)}"
    for key, most in _MOST.items():
        value = header.metadata.get(f"{prefix}.{key}")
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "iu" and value.size and not (value.min() >= 0 and value.max() <= most):
                yield f"{prefix}.{key} holds {int(value.max())}, 0 to {most} can be loaded"
        elif type(value) is int and not 0 <= value <= most:
            yield f"{prefix}.{key} is {value}, 0 to {most} can be loaded"


def _attention(header: GgufHeader) -> Iterator[str]:
    heads = next((count for count in header.heads if count), 0)
    if not heads:
        return
    length = header.of_model("attention.key_length") or header.width // heads
    turned = header.of_model("rope.dimension_count")
    if turned is not None and (turned > length or turned % 2):
        yield f"rope turns {turned} dimensions of heads of {length}"


def _bytes(header: GgufHeader) -> Iterator[str]:
    """SentencePiece spells what has no token of its own in bytes, and each byte needs a token for that. RWKV's reader
    stays where it is, forever, at the first byte of a token if that has no token of its own."""
    for byte in range(256):
        alone = bytes([byte])
        spellings = [repr(alone)[2:-1].encode()] if header.tokenizer == "rwkv" else [b"<0x%02X>" % byte, alone]
        if not any(map(header.tokens.has, spellings if byte else spellings[:1])):
            yield f"its vocabulary lacks the byte <0x{byte:02X}>"
            return


def _states(header: GgufHeader) -> Iterator[str]:
    inner, width = header.of_model("ssm.inner_size") or 0, header.width
    asserted = architecture_of(header.architecture).state_width
    if asserted == "doubled" and inner != 2 * width:
        yield f"its state layers are {inner} wide, twice {width} can be loaded"
    parts = (header.of_model("ssm.time_step_rank") or 0) * (header.of_model("ssm.state_size") or 0)
    if asserted != "by heads":
        return
    if inner != parts:
        yield f"its state layers are {inner} wide and their heads {parts}"
    if header.of_model("full_attention_interval") == 0:
        yield "its interval of attention layers is 0"
    if header.of_model("rope.dimension_count") == 0:
        yield "rope turns 0 dimensions"
