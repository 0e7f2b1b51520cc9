"""Writes a llama-architecture model as a GGUF file, and reads one into torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Literal

import gguf
import torch
from gguf.quants import dequantize, quantize
from torch import Tensor

from specchat_engine.training.model import ModelConfig, TorchLlama

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


def write_draft(path: Path, model: TorchLlama, target: Path, name: str, precision: Precision) -> None:
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


def read_gguf(path: Path, precision: torch.dtype = torch.float32) -> TorchLlama:
    """The model that a file holds, its matrices in `precision` and its vectors in float32, whatever they are stored in.

    Raises:
        ValueError: another architecture, sizes or tensors that the model does not have, or a tensor that is missing.
    """
    reader = gguf.GGUFReader(path)
    architecture = value_of(reader, "general.architecture")
    if architecture != "llama":
        raise ValueError(f"{path} holds the architecture {architecture}: only llama can be read into torch")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if "output.weight" in tensors:
        raise ValueError(f"{path} has an output matrix of its own: only models with tied embeddings can be read")
    config = read_config(reader)
    _check_rotation(path, reader, config)
    if ROPE_FACTORS in tensors:
        config = replace(config, rope_factors=tuple(tensor_weights(tensors.pop(ROPE_FACTORS)).tolist()))
    state = {}
    for written, held in tensor_names(config.layers):
        if written not in tensors:
            raise ValueError(f"{path} lacks the tensor {written}: it is not a complete llama model")
        weights = tensor_weights(tensors.pop(written))
        state[held] = weights.to(precision) if weights.dim() > 1 else weights
    if tensors:
        raise ValueError(f"{path} has the tensor {min(tensors)}, which cannot be read into torch")
    with torch.device("meta"):
        model = TorchLlama(config)
    model.load_state_dict(state, assign=True)
    return model


def tensor_weights(tensor: gguf.ReaderTensor) -> Tensor:
    """A tensor of a file in float32. Raises ValueError for a type that cannot be read."""
    try:
        return torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    except NotImplementedError:
        raise ValueError(f"{tensor.name} is stored as {tensor.tensor_type.name}: that cannot be read") from None


def _check_rotation(path: Path, reader: gguf.GGUFReader, config: ModelConfig) -> None:
    """Raises ValueError if positions are read in another way than the model's."""
    for key in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
        value = value_of(reader, f"llama.{key}", config.head_width)
        if value != config.head_width:
            raise ValueError(f"{path}: {key} is {value}, and only {config.head_width} can be read")
    kind = reader.get_field("llama.rope.scaling.type")
    factor = value_of(reader, "llama.rope.scaling.factor", 1.0)
    if (kind is None or kind.contents() != "none") and factor not in (0.0, 1.0):
        raise ValueError(f"{path}: positions are scaled by {factor:g}: that cannot be read")


def read_config(reader: gguf.GGUFReader) -> ModelConfig:
    """The sizes of a llama model. Raises ValueError if one is missing."""
    embedding = next((tensor for tensor in reader.tensors if tensor.name == "token_embd.weight"), None)
    if embedding is None:
        raise ValueError("the file lacks the tensor token_embd.weight: it is not a complete llama model")
    return ModelConfig(
        vocab_size=int(embedding.shape[1]),
        width=value_of(reader, "llama.embedding_length"),
        layers=value_of(reader, "llama.block_count"),
        heads=value_of(reader, "llama.attention.head_count"),
        kv_heads=value_of(reader, "llama.attention.head_count_kv"),
        feed_forward=value_of(reader, "llama.feed_forward_length"),
        context=value_of(reader, "llama.context_length"),
        rope_base=value_of(reader, "llama.rope.freq_base", 10_000.0),
        norm_eps=value_of(reader, "llama.attention.layer_norm_rms_epsilon"),
    )


def value_of(reader: gguf.GGUFReader, key: str, default: float | None = None) -> Any:
    """The value of a key, or the default if there is one. Raises ValueError if the file lacks the key."""
    field = reader.get_field(key)
    if field is None:
        if default is not None:
            return default
        raise ValueError(f"the file lacks the key {key}: it is not a complete llama model")
    return field.contents()
