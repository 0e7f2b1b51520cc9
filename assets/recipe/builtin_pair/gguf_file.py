"""Writes a model of the pair with its tokenizer as a GGUF file, and reads the tokenizer back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gguf

from builtin_pair.tokenizer import PRE_TOKENIZER, BytePairTokenizer
from specchat_engine.training.gguf import FILE_TYPES, Precision, add_sizes, add_tensor, finish, tensor_names, value_of
from specchat_engine.training.model import TorchLlama


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


def write_gguf(
    path: Path, model: TorchLlama, tokenizer: BytePairTokenizer, description: Description, precision: Precision
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


def read_tokenizer(path: Path) -> BytePairTokenizer:
    """The tokenizer that `write_gguf` put into a file.

    Raises:
        ValueError: a tokenizer of another kind, or special tokens that are not its first ones.
    """
    reader = gguf.GGUFReader(path)
    kind = value_of(reader, "tokenizer.ggml.pre")
    if kind != PRE_TOKENIZER:
        raise ValueError(f"{path} has the pre-tokenizer {kind}: only {PRE_TOKENIZER} can be read")
    types = value_of(reader, "tokenizer.ggml.token_type")
    specials = types.count(gguf.TokenType.CONTROL)
    if any(kind != gguf.TokenType.CONTROL for kind in types[:specials]):
        raise ValueError(f"{path} has special tokens among the others: only files of this project can be read")
    return BytePairTokenizer.of(
        value_of(reader, "tokenizer.ggml.tokens"), value_of(reader, "tokenizer.ggml.merges"), specials
    )
