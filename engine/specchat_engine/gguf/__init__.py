"""Reads the header of a GGUF file in Python, within bounds, before any native code sees the file.

Heads in safetensors files are described in the same way.

    header = read_header(FileSource(file), "model.gguf")

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from specchat_engine.errors import HeaderError
from specchat_engine.gguf.cursor import ByteSource, FileSource, MoreNeeded, PrefixSource, TextArray, Value
from specchat_engine.gguf.header import GgufHeader, TensorInfo
from specchat_engine.gguf.reader import read_header, read_model

__all__ = [
    "ByteSource",
    "FileSource",
    "GgufHeader",
    "HeaderError",
    "MoreNeeded",
    "PrefixSource",
    "TensorInfo",
    "TextArray",
    "Value",
    "read_header",
    "read_model",
]
