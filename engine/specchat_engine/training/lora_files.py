"""Writes an adapted model as a whole file: the file that it began as, with the adapters merged into the matrices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf

from specchat_engine.training.gguf import FILE_TYPES, Precision, add_tensor, copy_fields, finish, tensor_names
from specchat_engine.training.gguf_reader import read_config, tensor_weights
from specchat_engine.training.lora import LowRankLinear


def write_merged(
    path: Path, base: Path, adapted: Mapping[str, LowRankLinear], target: Path, name: str, precision: Precision
) -> None:
    """Writes the llama model of the file `base` with adapters merged, and with the target's tokenizer and template.

    `adapted` has the layers by their names in the state of a `LlamaModel`. The adapters are added to the weights of the
    file, not to those that training rounded. Matrices are written in `precision`; what is in it already and has no
    adapter is copied as it is.
    """
    reader = gguf.GGUFReader(base)
    names = dict(tensor_names(read_config(reader).layers))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    copy_fields(reader, writer, ("llama.",))
    copy_fields(gguf.GGUFReader(target), writer, ("tokenizer.",))
    for tensor in reader.tensors:
        layer = adapted.get(names.get(tensor.name, ""))
        if layer is not None:
            add_tensor(writer, tensor.name, tensor_weights(tensor) + layer.change(), precision)
        elif len(tensor.shape) == 1 or tensor.tensor_type == gguf.GGMLQuantizationType[precision]:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            add_tensor(writer, tensor.name, tensor_weights(tensor), precision)
    finish(writer)
