"""Reads the model to grow and writes the grown model, tensor by tensor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf.quants import dequantize
from numpy.typing import NDArray

from benchmarks.growth import ROUTER, Floats, GrownMatrix, Growth, Shape
from support.quantise import encoded

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
    """Writes the grown model under a new name: matrices in `precision`, one of `PRECISIONS`, norms and routers in F32.

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
    kinds = {tensor: _kind(tensor, size, precision, growth.large.layers) for tensor, size in sizes.items()}
    for tensor, size in sizes.items():
        values, stored = gguf.GGML_QUANT_SIZES[kinds[tensor]]
        writer.add_tensor_info(tensor, size, np.dtype(np.float32), int(np.prod(size)) // values * stored, kinds[tensor])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in sizes:
        writer.write_tensor_data(_stored(growth.tensor(tensor, source.tensor), kinds[tensor]))
    writer.close()


PRECISIONS = ("F32", "F16", "BF16", "Q8_0", "Q4_K_M")
"""Types that are written at once; llama.cpp makes the others of a file in F16."""


def _kind(tensor: str, size: tuple[int, ...], precision: str, layers: int) -> gguf.GGMLQuantizationType:
    """The type of a tensor. As in llama.cpp's Q4_K_M, the embedding and the values and outputs of half of the layers
    are finer: the first and the last eighth, and every third between."""
    if len(size) == 1 or ROUTER in tensor:
        return gguf.GGMLQuantizationType.F32
    if precision != "Q4_K_M":
        return gguf.GGMLQuantizationType[precision]
    fine = not tensor.startswith("blk.")
    if "attn_v" in tensor or "ffn_down" in tensor:
        layer, eighth = int(tensor.split(".")[1]), layers // 8
        fine = layer < eighth or layer >= layers - eighth or (layer - eighth) % 3 == 2
    return gguf.GGMLQuantizationType.Q6_K if fine else gguf.GGMLQuantizationType.Q4_K


def _stored(values: Floats | GrownMatrix, kind: gguf.GGMLQuantizationType) -> NDArray[Any]:
    return values.stored(lambda rows: encoded(rows, kind)) if isinstance(values, GrownMatrix) else encoded(values, kind)


def write_grown_head(path: Path, head: Path, growth: Growth, precision: str) -> None:
    """Writes an EAGLE-3 head for the grown model. `growth` is that model's."""
    reader = gguf.GGUFReader(head)
    own = replace(growth.small, feed_forward=_value(reader, "eagle3.feed_forward_length"))
    grown = Growth(own, growth.large, _value(reader, "eagle3.attention.layer_norm_rms_epsilon"), growth.seed)
    writer = gguf.GGUFWriter(path, "eagle3")
    large = growth.large
    writer.add_name(f"{head.stem}-grown")
    writer.add_context_length(_value(reader, "eagle3.context_length"))
    writer.add_embedding_length(large.width)
    writer.add_block_count(1)
    writer.add_feed_forward_length(large.feed_forward)
    writer.add_head_count(large.heads)
    writer.add_head_count_kv(large.kv_heads)
    writer.add_key_length(large.head_width)
    writer.add_value_length(large.head_width)
    writer.add_layer_norm_rms_eps(grown.norm_epsilon)
    writer.add_rope_freq_base(_value(reader, "eagle3.rope.freq_base"))
    writer.add_rope_dimension_count(large.head_width)
    writer.add_vocab_size(large.vocabulary)
    writer.add_array("eagle3.target_layers", [growth.layer(layer) for layer in _value(reader, "eagle3.target_layers")])
    writer.add_uint32("eagle3.target_hidden_size", large.width)
    writer.add_tokenizer_model("none")
    for tensor in reader.tensors:
        values = grown.of_head(tensor.name, dequantize(tensor.data, tensor.tensor_type))
        kind = gguf.GGMLQuantizationType[precision if isinstance(values, GrownMatrix) else "F32"]
        writer.add_tensor(tensor.name, _stored(values, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
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
    if large.experts:
        numbers |= {"expert_count": large.experts, "expert_used_count": large.used}
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
