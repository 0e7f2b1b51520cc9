"""Reads the model to grow and writes the grown model, tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

from specchat_engine.errors import ModelFileError
from specchat_engine.training.growth import Floats, Growth, Shape

if TYPE_CHECKING:
    from specchat_engine.training.gguf import Precision

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
    """Opens a file to grow it.

    Raises:
        ModelFileError: no GGUF file, another architecture, missing sizes, or tensors that growing knows nothing about.
    """
    try:
        reader = gguf.GGUFReader(path)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {error}; name a GGUF file") from error
    architecture = _value(reader, path, "general.architecture")
    if architecture != "llama":
        raise ModelFileError(f"{path} holds the architecture {architecture}: only llama can be grown")
    width, heads = (_value(reader, path, f"llama.{key}") for key in ("embedding_length", "attention.head_count"))
    shape = Shape(
        vocabulary=len(_value(reader, path, "tokenizer.ggml.tokens")),
        width=width,
        layers=_value(reader, path, "llama.block_count"),
        heads=heads,
        kv_heads=_value(reader, path, "llama.attention.head_count_kv"),
        head_width=_value(reader, path, "llama.rope.dimension_count"),
        feed_forward=_value(reader, path, "llama.feed_forward_length"),
    )
    epsilon = _value(reader, path, "llama.attention.layer_norm_rms_epsilon")
    expected = shape.tensors()
    found = {tensor.name: tuple(int(size) for size in reversed(tensor.shape)) for tensor in reader.tensors}
    for name in sorted(expected.keys() ^ found.keys()) or [name for name in expected if expected[name] != found[name]]:
        raise ModelFileError(
            f"{path} has {name} of size {found.get(name)} where a plain llama with tied embeddings has "
            f"{expected.get(name)}: it cannot be grown"
        )
    return Source(path, shape, epsilon, reader)


def write_grown(path: Path, source: Source, growth: Growth, precision: Precision, name: str) -> None:
    """Writes the grown model: matrices in `precision`, norms in F32, a new name, the tokenizer and all else as it was.

    Holds one tensor in memory at a time. The same growth writes the same bytes.
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
    tokens, kinds = (_value(source.reader, source.path, f"tokenizer.ggml.{key}") for key in ("tokens", "token_type"))
    new = range(len(tokens), growth.large.vocabulary)
    return {
        "tokenizer.ggml.tokens": ([*tokens, *(f"<unused{token}>" for token in new)], _ARRAY, _STRING),
        "tokenizer.ggml.token_type": ([*kinds, *[int(gguf.TokenType.UNUSED)] * len(new)], _ARRAY, _INT32),
    }


def _value(reader: gguf.GGUFReader, path: Path, key: str) -> Any:
    field = reader.get_field(key)
    if field is None:
        raise ModelFileError(f"{path} lacks the key {key}: it is not a complete llama model")
    return field.contents()
