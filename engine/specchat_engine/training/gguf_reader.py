"""Reads a llama-architecture GGUF file back into torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import torch
from gguf.quants import dequantize

from specchat_engine.training.bpe import PRE_TOKENIZER, BytePairTokenizer
from specchat_engine.training.gguf_writer import tensor_names
from specchat_engine.training.model import LlamaModel, ModelConfig


def read_gguf(path: Path) -> LlamaModel:
    """The model that a file holds, in float32 whatever it is stored in.

    Raises:
        ValueError: another architecture, an output matrix of its own, or a tensor that is missing.
    """
    reader = gguf.GGUFReader(path)
    architecture = _value(reader, "general.architecture")
    if architecture != "llama":
        raise ValueError(f"{path} holds the architecture {architecture}: only llama can be read into torch")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    if "output.weight" in tensors:
        raise ValueError(f"{path} has an output matrix of its own: only models with tied embeddings can be read")
    heads = _value(reader, "llama.attention.head_count")
    config = ModelConfig(
        vocab_size=int(tensors["token_embd.weight"].shape[1]),
        width=_value(reader, "llama.embedding_length"),
        layers=_value(reader, "llama.block_count"),
        heads=heads,
        kv_heads=_value(reader, "llama.attention.head_count_kv"),
        feed_forward=_value(reader, "llama.feed_forward_length"),
        context=_value(reader, "llama.context_length"),
        rope_base=_value(reader, "llama.rope.freq_base"),
        norm_eps=_value(reader, "llama.attention.layer_norm_rms_epsilon"),
    )
    model = LlamaModel(config)
    state = {}
    for written, held in tensor_names(config.layers):
        if written not in tensors:
            raise ValueError(f"{path} lacks the tensor {written}: it is not a complete llama model")
        tensor = tensors[written]
        state[held] = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    model.load_state_dict(state)
    return model


def read_tokenizer(path: Path) -> BytePairTokenizer:
    """The tokenizer that `write_gguf` put into a file.

    Raises:
        ValueError: a tokenizer of another kind, or special tokens that are not its first ones.
    """
    reader = gguf.GGUFReader(path)
    kind = _value(reader, "tokenizer.ggml.pre")
    if kind != PRE_TOKENIZER:
        raise ValueError(f"{path} has the pre-tokenizer {kind}: only {PRE_TOKENIZER} can be read")
    types = _value(reader, "tokenizer.ggml.token_type")
    specials = types.count(gguf.TokenType.CONTROL)
    if any(kind != gguf.TokenType.CONTROL for kind in types[:specials]):
        raise ValueError(f"{path} has special tokens among the others: only files of this project can be read")
    return BytePairTokenizer.of(
        _value(reader, "tokenizer.ggml.tokens"), _value(reader, "tokenizer.ggml.merges"), specials
    )


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    field = reader.get_field(key)
    if field is None:
        raise ValueError(f"the file lacks the key {key}: it is not a complete llama model")
    return field.contents()
