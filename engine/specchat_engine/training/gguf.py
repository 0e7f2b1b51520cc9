"""Writes a llama-architecture model with its tokenizer as a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import gguf
import torch
from gguf.quants import quantize
from torch import Tensor

from specchat_engine.training.bpe import PRE_TOKENIZER, BytePairTokenizer
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
