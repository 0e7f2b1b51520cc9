"""Model files for tests: tiny llamas with random weights, pairs of them, and one that aborts llama.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_vocabulary() -> list[str]:
    """The control tokens, the 256 bytes as the printable characters of byte-level BPE, and two merges."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    disguise = {byte: chr(byte) for byte in printable}
    disguise |= {byte: chr(256 + place) for place, byte in enumerate(b for b in range(256) if b not in disguise)}
    return [*SPECIALS, *(disguise[byte] for byte in range(256)), "he", "ll"]


def write_tiny_model(
    path: Path,
    *,
    seed: int = 0,
    layers: int = 2,
    width: int = 64,
    n_ctx: int = 512,
    vocabulary: Sequence[str] | None = None,
    sharpness: float = 1.0,
    like: int | None = None,
    template: str = TEMPLATE,
    merges: Sequence[str] = ("h e", "l l"),
    sentencepiece: bool = False,
) -> Path:
    """A llama model with random weights over byte tokens, or over those of a SentencePiece tokenizer.

    `sharpness` scales the logits and so controls the entropy. `like` is the seed of another model of the same width
    whose embedding is mixed in, which makes the two agree more often than by chance.
    """
    tokens = list(vocabulary or (SENTENCEPIECE if sentencepiece else byte_vocabulary()))
    random = np.random.default_rng(seed)
    heads, feed_forward = 4, width * 2
    sizes = {"layers": layers, "width": width, "n_ctx": n_ctx}
    writer = begin_model(
        path, "llama", tokens=tokens, template=template, merges=merges, sentencepiece=sentencepiece, **sizes
    )
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads // 2)
    writer.add_rope_dimension_count(width // heads)

    def matrix(rows: int, columns: int, scale: float = 1.0) -> np.ndarray:
        return (random.standard_normal((rows, columns)) * scale / np.sqrt(columns)).astype(np.float16)

    shared = np.random.default_rng(like if like is not None else seed)
    embedding = (shared.standard_normal((len(tokens), width)) * sharpness).astype(np.float16)
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for layer in range(layers):
        block = f"blk.{layer}"
        writer.add_tensor(f"{block}.attn_norm.weight", np.ones(width, np.float32))
        writer.add_tensor(f"{block}.ffn_norm.weight", np.ones(width, np.float32))
        writer.add_tensor(f"{block}.attn_q.weight", matrix(width, width))
        writer.add_tensor(f"{block}.attn_k.weight", matrix(width // 2, width))
        writer.add_tensor(f"{block}.attn_v.weight", matrix(width // 2, width))
        writer.add_tensor(f"{block}.attn_output.weight", matrix(width, width, 0.5))
        writer.add_tensor(f"{block}.ffn_gate.weight", matrix(feed_forward, width))
        writer.add_tensor(f"{block}.ffn_up.weight", matrix(feed_forward, width))
        writer.add_tensor(f"{block}.ffn_down.weight", matrix(width, feed_forward, 0.5))
    return end_model(writer, path)


def begin_model(
    path: Path,
    architecture: str,
    *,
    tokens: Sequence[str],
    layers: int,
    width: int,
    n_ctx: int,
    template: str = TEMPLATE,
    merges: Sequence[str] = ("h e", "l l"),
    sentencepiece: bool = False,
    controls: Sequence[str] = SPECIALS,
) -> gguf.GGUFWriter:
    """A writer with what all architectures have: sizes, tokenizer and template. Without merges there are no tokens."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name(path.stem)
    writer.add_context_length(n_ctx)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    if not merges:
        writer.add_tokenizer_model("none")
        return writer
    if sentencepiece:
        write_sentencepiece(writer, tokens, template)
    else:
        write_vocabulary(writer, tokens, template, merges, controls)
    writer.add_float32("general.sampling.temp", 0.7)
    return writer


def write_vocabulary(
    writer: gguf.GGUFWriter,
    tokens: Sequence[str],
    template: str = TEMPLATE,
    merges: Sequence[str] = ("h e", "l l"),
    controls: Sequence[str] = SPECIALS,
) -> None:
    """A byte-level tokenizer and a chat template, unless that is empty."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control if token in controls else normal for token in tokens])
    writer.add_token_merges([*merges])
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(0)
    writer.add_add_bos_token(False)
    if template:
        writer.add_chat_template(template)


SENTENCEPIECE = (
    "<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "▁▁", "▁h", "▁he", "he", "ll", "llo", "o",
)  # fmt: skip
"""The tokens of a small SentencePiece tokenizer: it puts a space before every text."""


def write_sentencepiece(writer: gguf.GGUFWriter, tokens: Sequence[str], template: str = TEMPLATE) -> None:
    """A SentencePiece tokenizer with these tokens, and a chat template."""
    kinds = {"<unk>": gguf.TokenType.UNKNOWN, "<s>": gguf.TokenType.CONTROL, "</s>": gguf.TokenType.CONTROL}
    byte = gguf.TokenType.BYTE
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(place) for place in range(len(tokens))])
    writer.add_token_types(
        [kinds.get(token, byte if token.startswith("<0x") else gguf.TokenType.NORMAL) for token in tokens]
    )
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(True)
    writer.add_chat_template(template)


def end_model(writer: gguf.GGUFWriter, path: Path) -> Path:
    """Writes the file and returns its path."""
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


class TinyModels(NamedTuple):
    """Files with random weights. The vocabulary of `draft` fits the target, that of `stranger` does not."""

    target: Path
    draft: Path
    stranger: Path


def write_tiny_pair(folder: Path) -> TinyModels:
    """Writes models that load in milliseconds. The draft sometimes agrees with the target."""
    letters = byte_vocabulary()[len(SPECIALS) : -1]
    return TinyModels(
        target=write_tiny_model(folder / "target.gguf", seed=1, sharpness=0.1),
        draft=write_tiny_model(folder / "draft.gguf", seed=2, like=1, layers=1, sharpness=0.1),
        stranger=write_tiny_model(folder / "stranger.gguf", seed=3, vocabulary=[*SPECIALS, *letters, "zz"]),
    )


class EngineFiles(NamedTuple):
    """`short` has a context of 256 tokens, the target 1024; `stranger` and `bigger` have other vocabularies."""

    target: Path
    draft: Path
    short: Path
    stranger: Path
    bigger: Path


def write_engine_files(folder: Path) -> EngineFiles:
    """Writes all models. Their weights are random; the drafts sometimes agree with the target."""
    plain = byte_vocabulary()
    other = [*plain[:50], *reversed(plain[50:60]), *plain[60:]]
    longer = [*plain, *(f"extra{number}" for number in range(600))]
    return EngineFiles(
        target=write_tiny_model(folder / "target.gguf", seed=1, sharpness=0.15, n_ctx=1024),
        draft=write_tiny_model(folder / "draft.gguf", seed=2, like=1, layers=1, sharpness=0.15, n_ctx=1024),
        short=write_tiny_model(folder / "short.gguf", seed=2, like=1, layers=1, sharpness=0.15, n_ctx=256),
        stranger=write_tiny_model(folder / "stranger.gguf", seed=3, vocabulary=other),
        bigger=write_tiny_model(folder / "bigger.gguf", seed=3, vocabulary=longer),
    )


ASSERTION = "GGML_ASSERT(n_embd_head == n_rot) failed"
"""What llama.cpp prints when it creates a context for the model."""


def write_crafted_model(path: Path) -> Path:
    """Writes a qwen3 model that rotates half of each head.

    Its header and tensors agree, but the architecture asserts that whole heads are rotated.
    """
    tokens, width, heads, feed_forward = byte_vocabulary(), 64, 4, 128
    writer = begin_model(path, "qwen3", tokens=tokens, layers=1, width=width, n_ctx=256)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_rope_dimension_count(width // heads // 2)
    shapes: dict[str, tuple[int, ...]] = {
        "attn_norm": (width,),
        "attn_q": (width, width),
        "attn_k": (width, width),
        "attn_v": (width, width),
        "attn_q_norm": (width // heads,),
        "attn_k_norm": (width // heads,),
        "attn_output": (width, width),
        "ffn_norm": (width,),
        "ffn_gate": (feed_forward, width),
        "ffn_up": (feed_forward, width),
        "ffn_down": (width, feed_forward),
    }
    for name, shape in {"token_embd": (len(tokens), width), "output_norm": (width,)}.items():
        writer.add_tensor(f"{name}.weight", np.ones(shape, np.float32))
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(shape, np.float32))
    return end_model(writer, path)
