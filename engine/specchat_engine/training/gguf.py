"""Writes a llama-architecture model with its tokenizer as a GGUF file, and reads such a file back into torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import gguf
import torch
from gguf.quants import dequantize, quantize
from torch import Tensor

from specchat_engine.training.bpe import PRE_TOKENIZER, BytePairTokenizer
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
    config = read_config(reader)
    model = LlamaModel(config)
    state = {}
    for written, held in tensor_names(config.layers):
        if written not in tensors:
            raise ValueError(f"{path} lacks the tensor {written}: it is not a complete llama model")
        tensor = tensors[written]
        state[held] = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
    model.load_state_dict(state)
    return model


def read_config(reader: gguf.GGUFReader) -> ModelConfig:
    """The sizes of a llama model. Raises ValueError if one is missing."""
    embedding = next((tensor for tensor in reader.tensors if tensor.name == "token_embd.weight"), None)
    if embedding is None:
        raise ValueError("the file lacks the tensor token_embd.weight: it is not a complete llama model")
    return ModelConfig(
        vocab_size=int(embedding.shape[1]),
        width=_value(reader, "llama.embedding_length"),
        layers=_value(reader, "llama.block_count"),
        heads=_value(reader, "llama.attention.head_count"),
        kv_heads=_value(reader, "llama.attention.head_count_kv"),
        feed_forward=_value(reader, "llama.feed_forward_length"),
        context=_value(reader, "llama.context_length"),
        rope_base=_value(reader, "llama.rope.freq_base", 10_000.0),
        norm_eps=_value(reader, "llama.attention.layer_norm_rms_epsilon"),
    )


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


def _value(reader: gguf.GGUFReader, key: str, default: float | None = None) -> Any:
    field = reader.get_field(key)
    if field is None:
        if default is not None:
            return default
        raise ValueError(f"the file lacks the key {key}: it is not a complete llama model")
    return field.contents()


Precision = Literal["F32", "F16", "BF16", "Q8_0"]

FILE_TYPES: Final = {
    "F32": gguf.LlamaFileType.ALL_F32,
    "F16": gguf.LlamaFileType.MOSTLY_F16,
    "BF16": gguf.LlamaFileType.MOSTLY_BF16,
    "Q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling that a model's author recommends, stored as `general.sampling.*`."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float


@dataclass(frozen=True, slots=True)
class Description:
    """What a file says about itself beside the weights; `end_token` ends a turn."""

    name: str
    text: str
    author: str
    license: str
    chat_template: str
    end_token: str
    padding_token: str
    sampling: Sampling


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


def write_gguf(
    path: Path, model: LlamaModel, tokenizer: BytePairTokenizer, description: Description, precision: Precision
) -> None:
    """Writes the file; matrices in `precision`, norms always in F32.

    Raises:
        ValueError: the tokenizer has another number of entries than the model.
    """
    config = model.config
    tokens = tokenizer.tokens
    if len(tokens) != config.vocab_size:
        raise ValueError(f"the tokenizer has {len(tokens)} entries and the model {config.vocab_size}: they must agree")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(description.name)
    writer.add_description(description.text)
    writer.add_author(description.author)
    writer.add_license(description.license)
    writer.add_file_type(FILE_TYPES[precision])
    add_sizes(writer, config, layers=config.layers)
    writer.add_vocab_size(config.vocab_size)
    _add_tokenizer(writer, tokenizer, description)
    _add_sampling(writer, description.sampling)
    state = model.state_dict()
    for written, held in tensor_names(config.layers):
        add_tensor(writer, written, state[held], precision)
    finish(writer)


def write_draft(path: Path, model: LlamaModel, target: Path, name: str, precision: Precision) -> None:
    """Writes a model that shares its tokenizer and chat template with the target's file."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    add_sizes(writer, model.config, layers=model.config.layers)
    writer.add_vocab_size(model.config.vocab_size)
    copy_fields(gguf.GGUFReader(target), writer, ("tokenizer.",))
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


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: BytePairTokenizer, description: Description) -> None:
    tokens = tokenizer.tokens
    control = set(tokenizer.specials)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE_TOKENIZER)
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in control else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges(tokenizer.merges)
    end, padding = tokens.index(description.end_token), tokens.index(description.padding_token)
    writer.add_bos_token_id(padding)
    writer.add_eos_token_id(end)
    writer.add_eot_token_id(end)
    writer.add_pad_token_id(padding)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    writer.add_chat_template(description.chat_template)


def _add_sampling(writer: gguf.GGUFWriter, sampling: Sampling) -> None:
    writer.add_float32("general.sampling.temp", sampling.temperature)
    writer.add_int32("general.sampling.top_k", sampling.top_k)
    writer.add_float32("general.sampling.top_p", sampling.top_p)
    writer.add_float32("general.sampling.min_p", sampling.min_p)


def add_tensor(writer: gguf.GGUFWriter, name: str, weight: Tensor, precision: Precision) -> None:
    """Adds a tensor; matrices in `precision`, vectors in F32."""
    values = weight.detach().float().cpu().numpy()
    if values.ndim == 1 or precision == "F32":
        writer.add_tensor(name, values)
        return
    kind = gguf.GGMLQuantizationType[precision]
    writer.add_tensor(name, quantize(values, kind), raw_dtype=kind)
