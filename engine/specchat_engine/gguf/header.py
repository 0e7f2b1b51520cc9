"""A header, and what it says in the field's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from specchat_engine.gguf.cursor import ByteOrder, TextArray, Value

TYPES: Final[dict[int, tuple[str, int, int]]] = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 36),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
    42: ("Q2_0", 64, 18),
}
"""ggml's types: name, elements of a block, bytes of a block."""

FILE_TYPES: Final = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
    40: "Q1_0",
    41: "Q2_0",
}
"""`general.file_type`: the type of most tensors."""

TOKENIZERS: Final = {
    "no_vocab": "none",
    "none": "none",
    "llama": "SentencePiece",
    "gpt2": "byte-level BPE",
    "bert": "WordPiece",
    "t5": "unigram",
    "rwkv": "RWKV",
    "plamo2": "PLaMo-2",
    "gemma4": "byte-level BPE",
}
"""`tokenizer.ggml.model` and the kind of tokenizer that llama.cpp uses for it."""

_NO_TEXTS: Final = TextArray(b"", np.empty(0, np.uint32))


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor. `shape` begins with the length of a row; `offset` counts from the beginning of the tensors' data.

    `size` is in bytes, None for an unknown type.
    """

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    elements: int
    size: int | None

    @property
    def type_name(self) -> str:
        """llama.cpp's name of the type: Q4_K, F16."""
        return TYPES[self.type][0] if self.type in TYPES else f"type {self.type}"


@dataclass(frozen=True, slots=True, eq=False)
class GgufHeader:
    """Everything before the weights. `data_offset` is where the tensors begin, in bytes; `file_size` None if unknown.

    Properties are None, empty or 0 if the file does not have the value, or has it in another type. A file of a split
    model lists its own tensors only.
    """

    version: int
    byte_order: ByteOrder
    alignment: int
    metadata: Mapping[str, Value]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    file_size: int | None

    def text(self, key: str) -> str | None:
        """A value that is text."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def integer(self, key: str) -> int | None:
        """A value that is a whole number."""
        value = self.metadata.get(key)
        return value if type(value) is int else None

    def number(self, key: str) -> float | None:
        """A value that is a number."""
        value = self.metadata.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def flag(self, key: str) -> bool | None:
        """A value that is true or false."""
        value = self.metadata.get(key)
        return value if isinstance(value, bool) else None

    def texts(self, key: str) -> TextArray:
        """A value that is a list of texts, empty if there is none."""
        value = self.metadata.get(key)
        return value if isinstance(value, TextArray) else _NO_TEXTS

    def numbers(self, key: str) -> list[float]:
        """A value that is a list of numbers or booleans, empty if there is none."""
        value = self.metadata.get(key)
        return [float(number) for number in value.tolist()] if isinstance(value, np.ndarray) else []

    def of_model(self, key: str) -> int | None:
        """A whole number under the architecture's own prefix: `of_model("block_count")`."""
        return self.integer(f"{self.architecture}.{key}")

    def per_layer(self, key: str) -> list[int]:
        """A number under the architecture's prefix for each layer; the file has one for all layers or one for each."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        if isinstance(value, np.ndarray):
            return [int(number) for number in value.tolist() if np.isfinite(number)][: self.layers]
        return [value] * self.layers if type(value) is int else []

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the architecture: llama, qwen3, gemma3; empty if the file does not say."""
        return self.text("general.architecture") or ""

    @property
    def name(self) -> str | None:
        """The model's own name."""
        return self.text("general.name")

    @property
    def quantisation(self) -> str:
        """The type of most weights: Q4_K_M, F16."""
        known = FILE_TYPES.get(self.integer("general.file_type") or 0)
        if known and "general.file_type" in self.metadata:
            return known
        sizes = self.bytes_per_type
        return max(sizes, key=lambda name: sizes[name]) if sizes else "unknown"

    @property
    def bytes_per_type(self) -> dict[str, int]:
        """The bytes of all tensors of each type, by its name; tensors of unknown size count as 0."""
        sizes: dict[str, int] = {}
        for tensor in self.tensors:
            sizes[tensor.type_name] = sizes.get(tensor.type_name, 0) + (tensor.size or 0)
        return sizes

    @property
    def n_params(self) -> int:
        """The weights in this file."""
        return sum(tensor.elements for tensor in self.tensors)

    @property
    def n_ctx_train(self) -> int:
        """The context length that the model was trained for, in tokens."""
        return self.of_model("context_length") or 0

    @property
    def width(self) -> int:
        """The length of a hidden state."""
        return self.of_model("embedding_length") or 0

    @property
    def layers(self) -> int:
        """The number of blocks, including those of a prediction head; 4,096 at most."""
        return min(self.of_model("block_count") or 0, 4096)

    @property
    def heads(self) -> list[int]:
        """Query heads of each layer."""
        return self.per_layer("attention.head_count")

    @property
    def kv_heads(self) -> list[int]:
        """Heads of keys and values of each layer, 0 for one without attention."""
        return self.per_layer("attention.head_count_kv") or self.heads

    @property
    def tokens(self) -> TextArray:
        """The vocabulary."""
        return self.texts("tokenizer.ggml.tokens")

    @property
    def n_vocab(self) -> int:
        """Entries of the vocabulary."""
        return len(self.tokens) or self.of_model("vocab_size") or 0

    @property
    def tokenizer(self) -> str:
        """The file's name for the kind of tokenizer: gpt2, llama."""
        return self.text("tokenizer.ggml.model") or ""

    @property
    def pre_tokenizer(self) -> str:
        """How text is split before byte pairs are merged: qwen2, llama-bpe."""
        return self.text("tokenizer.ggml.pre") or ""

    @property
    def chat_template(self) -> str | None:
        """The Jinja template."""
        return self.text("tokenizer.chat_template")

    @property
    def split_count(self) -> int:
        """The number of files that the model is split into, 1 for a single file."""
        return self.integer("split.count") or 1

    @property
    def sampling(self) -> dict[str, float]:
        """The author's recommended sampling parameters, by the last part of the key: temp, top_k."""
        prefix = "general.sampling."
        numbers = {key.removeprefix(prefix): self.number(key) for key in self.metadata if key.startswith(prefix)}
        return {name: value for name, value in numbers.items() if value is not None}

    @property
    def experts(self) -> int:
        """Experts of each mixture layer, 0 for a dense model."""
        return self.of_model("expert_count") or 0

    @property
    def window(self) -> int:
        """The number of tokens that sliding-window layers see, 0 without such layers."""
        return self.of_model("attention.sliding_window") or 0

    @property
    def has_mtp(self) -> bool:
        """Whether the model has layers that predict several tokens (multi-token prediction)."""
        return bool(self.of_model("nextn_predict_layers")) or any(".nextn." in tensor.name for tensor in self.tensors)

    @property
    def is_head(self) -> bool:
        """Whether it is a head for another model's hidden states, which cannot run alone."""
        name = self.architecture
        return name.startswith(("eagle", "dflash")) or name.endswith("-assistant") or name in ("medusa", "mlp")
