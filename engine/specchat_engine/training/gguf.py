"""Writes a llama-architecture model as a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import gguf
import torch
from gguf.quants import quantize
from torch import Tensor

from specchat_engine.training.model import LlamaModel, ModelConfig

Precision = Literal["F32", "F16", "BF16", "Q8_0"]

FILE_TYPES: Final = {
    "F32": gguf.LlamaFileType.ALL_F32,
    "F16": gguf.LlamaFileType.MOSTLY_F16,
    "BF16": gguf.LlamaFileType.MOSTLY_BF16,
    "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
}

ROPE_FACTORS = "rope_freqs.weight"
"""The tensor of what stretches the periods of the rotary pairs."""


def tensor_names(layers: int) -> Iterator[tuple[str, str]]:
    """Each tensor's name in the GGUF file and in the model's state, the tied output matrix left out."""
    yield "token_embd.weight", "embedding.weight"
    yield "output_norm.weight", "norm.weight"
    parts = {
        "attn_norm": "attention_norm",
        "attn_q": "attention.query",
        "attn_k": "attention.key",
        "attn_v": "attention.value",
        "attn_output": "attention.output",
        "ffn_norm": "feed_forward_norm",
        "ffn_gate": "feed_forward.gate",
        "ffn_up": "feed_forward.up",
        "ffn_down": "feed_forward.down",
    }
    for layer in range(layers):
        for written, held in parts.items():
            yield f"blk.{layer}.{written}.weight", f"blocks.{layer}.{held}.weight"


def write_draft(path: Path, model: LlamaModel, target: Path, name: str, precision: Precision) -> None:
    """Writes a model that shares its tokenizer and chat template with the target's file."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    add_sizes(writer, model.config, layers=model.config.layers)
    writer.add_vocab_size(model.config.vocab_size)
    copy_fields(gguf.GGUFReader(target), writer, ("tokenizer.",))
    if model.config.rope_factors:
        add_tensor(writer, ROPE_FACTORS, torch.tensor(model.config.rope_factors), precision)
    state = model.state_dict()
    for written, held in tensor_names(model.config.layers):
        add_tensor(writer, written, state[held], precision)
    finish(writer)


def copy_fields(reader: gguf.GGUFReader, writer: gguf.GGUFWriter, prefixes: tuple[str, ...]) -> None:
    """Copies the metadata whose keys begin so, but not the architecture."""
    for key, field in reader.fields.items():
        if key.startswith(prefixes) and key != "general.architecture":
            listed = field.types[-1] if field.types[0] is gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(key, field.contents(), field.types[0], sub_type=listed)


def add_sizes(writer: gguf.GGUFWriter, config: ModelConfig, *, layers: int) -> None:
    """Adds the sizes of a model of this many layers."""
    writer.add_context_length(config.context)
    writer.add_embedding_length(config.width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config.feed_forward)
    writer.add_head_count(config.heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_layer_norm_rms_eps(config.norm_eps)
    writer.add_rope_freq_base(config.rope_base)
    writer.add_rope_dimension_count(config.head_width)


def finish(writer: gguf.GGUFWriter) -> None:
    """Writes everything that was added."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_tensor(writer: gguf.GGUFWriter, name: str, weight: Tensor, precision: Precision) -> None:
    """Adds a tensor; matrices in `precision`, vectors in F32."""
    values = weight.detach().float().cpu().numpy()
    if values.ndim == 1 or precision == "F32":
        writer.add_tensor(name, values)
        return
    kind = gguf.GGMLQuantizationType[precision]
    writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
