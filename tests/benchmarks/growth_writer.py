"""Reads the model to grow and writes the grown model, tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

from benchmarks.growth import Floats, Growth, Shape

_STRING, _UINT32, _INT32, _FLOAT32, _ARRAY = (
    gguf.GGUFValueType[name] for name in ("STRING", "UINT32", "INT32", "FLOAT32", "ARRAY")
)


@dataclass(frozen=True, slots=True)
class Source:
    """A llama-architecture file with tied embeddings; its tensors are read when they are asked for."""

    path: Path
    shape: Shape
    epsilon: float
    reader: gguf.GGUFReader

    def tensor(self, name: str) -> Floats:
        """One tensor in float32, whatever it is stored in: [rows, columns] or [length]."""
        found = next(tensor for tensor in self.reader.tensors if tensor.name == name)
        values: Floats = dequantize(found.data, found.tensor_type)
        return values

    def metadata(self) -> dict[str, tuple[Any, Any, Any]]:
        """Each key's value, type and, in an array, the type of its entries; without what a writer adds itself."""
        return {
            key: (field.contents(), field.types[0], field.types[-1] if field.types[0] == _ARRAY else None)
            for key, field in self.reader.fields.items()
            if not key.startswith("GGUF.") and key != "general.architecture"
        }


def read_source(path: Path) -> Source:
    """Opens a file to grow it."""
    reader = gguf.GGUFReader(path)

    def of_llama(key: str) -> Any:
        return _value(reader, f"llama.{key}")

    shape = Shape(
        vocabulary=len(_value(reader, "tokenizer.ggml.tokens")),
        width=of_llama("embedding_length"),
        layers=of_llama("block_count"),
        heads=of_llama("attention.head_count"),
        kv_heads=of_llama("attention.head_count_kv"),
        head_width=of_llama("rope.dimension_count"),
        feed_forward=of_llama("feed_forward_length"),
    )
    return Source(path, shape, of_llama("attention.layer_norm_rms_epsilon"), reader)


def write_grown(path: Path, source: Source, growth: Growth, precision: str, name: str) -> None:
    """Writes the grown model: matrices in `precision` (F32, F16, BF16 or Q8_0), norms in F32, under a new name.

    All else stays as it was. Holds one tensor in memory at a time. The same growth writes the same bytes.
    """
    writer = gguf.GGUFWriter(path, "llama")
    file_type = "ALL_F32" if precision == "F32" else f"MOSTLY_{precision}"
    metadata = source.metadata() | _sizes(growth) | _tokens(source, growth)
    metadata["general.name"] = (name, _STRING, None)
    metadata["general.file_type"] = (int(gguf.LlamaFileType[file_type]), _UINT32, None)
    for key, (value, kind, entries) in metadata.items():
        writer.add_key_value(key, value, kind, entries)
    sizes = growth.large.tensors()
    kinds = {
        tensor: gguf.GGMLQuantizationType["F32" if len(size) == 1 else precision] for tensor, size in sizes.items()
    }
    for tensor, size in sizes.items():
        values, stored = gguf.GGML_QUANT_SIZES[kinds[tensor]]
        writer.add_tensor_info(tensor, size, np.dtype(np.float32), int(np.prod(size)) // values * stored, kinds[tensor])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in sizes:
        writer.write_tensor_data(quantize(growth.tensor(tensor, source.tensor), kinds[tensor]))
    writer.close()


def _sizes(growth: Growth) -> dict[str, tuple[Any, Any, Any]]:
    large = growth.large
    numbers = {
        "embedding_length": large.width,
        "block_count": large.layers,
        "feed_forward_length": large.feed_forward,
        "attention.head_count": large.heads,
        "attention.head_count_kv": large.kv_heads,
        "attention.key_length": large.head_width,
        "attention.value_length": large.head_width,
        "vocab_size": large.vocabulary,
    }
    epsilon = {"llama.attention.layer_norm_rms_epsilon": (growth.norm_epsilon, _FLOAT32, None)}
    return {f"llama.{key}": (value, _UINT32, None) for key, value in numbers.items()} | epsilon


def _tokens(source: Source, growth: Growth) -> dict[str, tuple[Any, Any, Any]]:
    """The vocabulary with its new tokens, whose texts are their own since they name their ids."""
    tokens, kinds = (_value(source.reader, f"tokenizer.ggml.{key}") for key in ("tokens", "token_type"))
    new = range(len(tokens), growth.large.vocabulary)
    return {
        "tokenizer.ggml.tokens": ([*tokens, *(f"<unused{token}>" for token in new)], _ARRAY, _STRING),
        "tokenizer.ggml.token_type": ([*kinds, *[int(gguf.TokenType.UNUSED)] * len(new)], _ARRAY, _INT32),
    }


def _value(reader: gguf.GGUFReader, key: str) -> Any:
    return reader.fields[key].contents()
