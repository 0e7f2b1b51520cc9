"""Reads a llama-architecture model from a GGUF file into torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import torch
from gguf.quants import dequantize
from torch import Tensor

from specchat_engine.training.gguf import ROPE_FACTORS, tensor_names
from specchat_engine.training.model import LlamaModel, ModelConfig


def read_gguf(path: Path, precision: torch.dtype = torch.float32) -> LlamaModel:
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
        model = LlamaModel(config)
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
        found = value_of(reader, f"llama.{key}", config.head_width)
        if found != config.head_width:
            raise ValueError(f"{path}: {key} is {found}, and only {config.head_width} can be read")
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
