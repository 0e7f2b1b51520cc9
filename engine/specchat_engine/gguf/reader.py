"""Reads whole headers, and checks model files on this machine before native code opens them.

Heads in safetensors files are described as if they had a GGUF header: Medusa heads and MLPSpeculators are published in
such files. What tensors cannot show stands in the file's metadata, or in the config.json beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Final

from specchat_engine.errors import HeaderError, ModelFileError
from specchat_engine.gguf.cursor import (
    MAX_ALIGNMENT,
    MAX_DIMENSIONS,
    MAX_ELEMENTS,
    MAX_KEY_BYTES,
    MAX_KEYS,
    MAX_TENSOR_NAME_BYTES,
    MAX_TENSORS,
    ByteSource,
    Cursor,
    FileSource,
    Value,
    ValueReader,
)
from specchat_engine.gguf.header import TYPES, GgufHeader, TensorInfo
from specchat_engine.gguf.soundness import check_loadable

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_START: Final = 24
"""Bytes of magic, version and the two counts."""
_ALIGNMENT: Final = 32
_PART: Final = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_MAX_PARTS: Final = 512
"""The largest published models come in some 60 files."""


def read_file(path: Path) -> GgufHeader:
    """The header of one file. Raises ModelFileError if it cannot be read, HeaderError if it is no GGUF file."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ModelFileError(f"{path} is not a regular file: name the .gguf file itself")
        with path.open("rb") as file:
            return read_header(FileSource(file), str(path))
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist: check the path") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder: name the .gguf file inside it") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_model(path: Path) -> GgufHeader:
    """The header of a model that llama.cpp can load, with the tensors of all its files.

    `path` is the file, or the first of several. A head may be a safetensors file too. Raises ModelFileError or
    HeaderError for anything else.
    """
    if path.suffix == SUFFIX and path.is_file():
        return read_safetensors(path)
    first = read_file(path)
    headers = [first, *(read_file(part) for part in part_paths(path, first)[1:])]
    for header in headers:
        check_loadable(header, str(path))
    if len(headers) == 1:
        return first
    sizes = [header.file_size or 0 for header in headers]
    return replace(
        first, tensors=tuple(tensor for header in headers for tensor in header.tensors), file_size=sum(sizes)
    )


def part_paths(path: Path, header: GgufHeader) -> list[Path]:
    """All files of the model whose first file this is. Raises HeaderError if it is not the first."""
    count = header.split_count
    if count == 1:
        return [path]
    match = _PART.fullmatch(path.name)
    if not match or int(match[3]) != count or not 1 < count <= _MAX_PARTS:
        raise HeaderError(f"{path} is one of {count} files: keep their names, NAME-00001-of-{count:05d}.gguf and so on")
    stem, number, last = match.groups()
    if int(number) != 1:
        raise HeaderError(f"{path} is file {int(number)} of {count}: name the first, {stem}-00001-of-{last}.gguf")
    return [path.with_name(f"{stem}-{number:05d}-of-{last}.gguf") for number in range(1, count + 1)]


def read_header(source: ByteSource, name: str = "the file") -> GgufHeader:
    """Everything before the weights; no size in it is trusted. `name` is the file's, for messages.

    Raises HeaderError, in one line, if the header is incomplete or broken, and what the source raises: MoreNeeded if it
    has only the first bytes.
    """
    cursor = Cursor(source, name)
    version = _read_start(cursor)
    n_tensors, n_keys = cursor.number("Q"), cursor.number("Q")
    for what, count, most, offset in (("tensors", n_tensors, MAX_TENSORS, 8), ("keys", n_keys, MAX_KEYS, 16)):
        if count > most:
            raise cursor.error(f"its header claims {count} {what}, at most {most} are read", offset)
    values = ValueReader(cursor)
    metadata = _read_metadata(cursor, values, n_keys)
    alignment = _alignment(cursor, metadata)
    tensors: dict[str, TensorInfo] = {}
    for _ in range(n_tensors):
        start = cursor.position
        tensor = _read_tensor(cursor, values, alignment)
        if tensor.name in tensors:
            raise cursor.error(f"there are two tensors {tensor.name!r}", start)
        tensors[tensor.name] = tensor
    data_offset = -(-cursor.position // alignment) * alignment
    infos = tuple(tensors.values())
    _check_places(cursor, infos, data_offset)
    return GgufHeader(
        version=version,
        byte_order=cursor.order,
        alignment=alignment,
        metadata=metadata,
        tensors=infos,
        data_offset=data_offset,
        file_size=source.size,
    )


def _read_start(cursor: Cursor) -> int:
    """Returns the version and sets the byte order."""
    name, size = cursor.name, cursor.source.size
    if size != 0:
        cursor.need(min(_START, size or _START))
    magic = bytes(cursor.data[:4])
    if magic != _MAGIC:
        raise HeaderError(f"{name} is not a GGUF file: it starts with {magic!r}; convert it to GGUF first")
    cursor.need(_START)
    cursor.position = 4
    version: int = cursor.number("I")
    if version & 0xFFFF == 0:
        cursor.set_order("big")
        cursor.position = 4
        swapped: int = cursor.number("I")
        if swapped in _VERSIONS:
            return swapped
    if version not in _VERSIONS:
        raise HeaderError(f"{name} is GGUF version {version}: versions 2 and 3 can be read; convert it again")
    return version


def _read_metadata(cursor: Cursor, values: ValueReader, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for _ in range(count):
        raw, start = values.text(MAX_KEY_BYTES, "a key")
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            raise cursor.error(f"the key {raw[:64]!r} is not UTF-8", start) from None
        if not key or key in metadata:
            raise cursor.error(f"the key {key[:64]!r} appears twice" if key else "a key is empty", start)
        metadata[key] = values.value(key[:64])
    return metadata


def _alignment(cursor: Cursor, metadata: dict[str, Value]) -> int:
    value = metadata.get("general.alignment", _ALIGNMENT)
    if type(value) is int and 0 < value <= MAX_ALIGNMENT and not value & (value - 1):
        return value
    raise cursor.error(f"its alignment is {str(value)[:64]}, not a power of two up to {MAX_ALIGNMENT}", cursor.position)


def _read_tensor(cursor: Cursor, values: ValueReader, alignment: int) -> TensorInfo:
    """The next tensor's description."""
    raw, start = values.text(MAX_TENSOR_NAME_BYTES, "a tensor's name")
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        raise cursor.error(f"the tensor name {raw!r} is not UTF-8", start) from None
    dimensions = cursor.number("I")
    if dimensions > MAX_DIMENSIONS:
        raise cursor.error(f"tensor {name!r} has {dimensions} dimensions, at most {MAX_DIMENSIONS} are read", start)
    shape = tuple(cursor.number("Q") for _ in range(dimensions))
    kind, offset = cursor.number("I"), cursor.number("Q")
    elements = 1
    for length in shape:
        elements *= length
    if not 0 < elements <= MAX_ELEMENTS or offset > MAX_ELEMENTS:
        raise cursor.error(f"tensor {name!r} cannot have the shape {shape} and the offset {offset}", start)
    if offset % alignment:
        raise cursor.error(f"tensor {name!r} begins at {offset}, not a multiple of {alignment}", start)
    size = None
    if kind in TYPES:
        _, block, bytes_ = TYPES[kind]
        row = shape[0] if shape else 1
        if row % block:
            multiple = f"a multiple of {TYPES[kind][0]}'s {block}"
            raise cursor.error(f"tensor {name!r} has rows of {row}, not {multiple}", start)
        size = elements // block * bytes_
    return TensorInfo(name, shape, kind, offset, elements, size)


def _check_places(cursor: Cursor, tensors: Sequence[TensorInfo], data_offset: int) -> None:
    """Raises HeaderError if tensors overlap or end after the end of the file, if that is known."""
    size, end, before = cursor.source.size, 0, None
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        if before and tensor.offset < end:
            raise cursor.error(f"tensors {before.name!r} and {tensor.name!r} overlap", data_offset + tensor.offset)
        end = tensor.offset + (1 if tensor.size is None else tensor.size)
        if size is not None and data_offset + end > size:
            raise cursor.truncated(data_offset + end, size)
        before = tensor


SUFFIX: Final = ".safetensors"
MARKS: Final = {"medusa": "0.0.linear.weight", "mlp": "speculator.proj.0.weight"}
"""A tensor that each kind of head must have."""

_TYPE_NUMBERS: Final = {name: number for number, (name, *_) in TYPES.items()}
_UNKNOWN: Final = -1
_MOST_TENSORS: Final = 1000


def read_safetensors(path: Path) -> GgufHeader:
    """The header of a head. Raises ModelFileError if the file cannot be read, HeaderError for any other model."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            names = sorted(file.keys())
            kind = next((kind for kind, mark in MARKS.items() if mark in names), None)
            if kind is None or len(names) > _MOST_TENSORS:
                raise HeaderError(f"{path} has neither Medusa heads nor an MLPSpeculator: use a GGUF file for a model")
            tensors = tuple(_described(name, file.get_slice(name)) for name in names)
            facts = _facts(path, file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{path} cannot be read: {error}; get the file again") from None
    metadata: dict[str, Value] = {"general.architecture": kind, "general.name": path.stem}
    for name in ("n_predict", "scale_input"):
        text = str(facts.get(name, "")).lower()
        if text.isdecimal() and len(text) < 10:
            metadata[f"{kind}.{name}"] = int(text)
        elif text in ("true", "false"):
            metadata[f"{kind}.{name}"] = text == "true"
    return GgufHeader(0, "little", 1, metadata, tensors, 0, path.stat().st_size)


def _described(name: str, entry: Any) -> TensorInfo:
    shape, elements = tuple(reversed(entry.get_shape())), prod(entry.get_shape())
    number = _TYPE_NUMBERS.get(entry.get_dtype(), _UNKNOWN)
    return TensorInfo(name, shape, number, 0, elements, elements * TYPES[number][2] if number in TYPES else None)


def _facts(path: Path, metadata: dict[str, str]) -> dict[str, Any]:
    beside = path.with_name("config.json")
    if not beside.is_file():
        return dict(metadata)
    try:
        return dict(json.loads(beside.read_text("utf-8"))) | metadata
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{beside} cannot be read: {error}; get the file again") from None
