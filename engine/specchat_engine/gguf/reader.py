"""Reads a whole header."""

from __future__ import annotations

from typing import Final

from specchat_engine.errors import HeaderError
from specchat_engine.gguf.cursor import MAX_ALIGNMENT, MAX_KEY_BYTES, MAX_KEYS, MAX_TENSORS, Cursor, Source
from specchat_engine.gguf.header import Header
from specchat_engine.gguf.tensors import TensorInfo, check_places, read_tensor
from specchat_engine.gguf.values import Value, ValueReader

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_START: Final = 24
"""Bytes of magic, version and the two counts."""
_ALIGNMENT: Final = 32


def read_header(source: Source, name: str = "the file") -> Header:
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
        tensor = read_tensor(cursor, values, alignment)
        if tensor.name in tensors:
            raise cursor.error(f"there are two tensors {tensor.name!r}", start)
        tensors[tensor.name] = tensor
    data_offset = -(-cursor.position // alignment) * alignment
    infos = tuple(tensors.values())
    check_places(cursor, infos, data_offset)
    return Header(
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
    found = bytes(cursor.data[:4])
    if found != _MAGIC:
        raise HeaderError(f"{name} is not a GGUF file: it starts with {found!r}; convert it to GGUF first")
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
