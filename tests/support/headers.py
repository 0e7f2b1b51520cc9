"""GGUF files for tests of the header reader, written by the package `gguf` or byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import gguf
import numpy as np
from hypothesis import strategies as st

from specchat_engine.gguf import GgufHeader, PrefixSource, TextArray, Value, read_header

Kind = gguf.GGUFValueType
Typed = tuple[Any, Kind, Kind | None]
"""A value, its type, and for an array the type of its items."""

_RANGES = {
    Kind.UINT8: (0, 2**8 - 1),
    Kind.INT8: (-(2**7), 2**7 - 1),
    Kind.UINT16: (0, 2**16 - 1),
    Kind.INT16: (-(2**15), 2**15 - 1),
    Kind.UINT32: (0, 2**32 - 1),
    Kind.INT32: (-(2**31), 2**31 - 1),
    Kind.UINT64: (0, 2**64 - 1),
    Kind.INT64: (-(2**63), 2**63 - 1),
}
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS: dict[Kind, st.SearchStrategy[Any]] = {
    **{kind: st.integers(low, high) for kind, (low, high) in _RANGES.items()},
    Kind.FLOAT32: st.floats(width=32, allow_nan=False),
    Kind.FLOAT64: st.floats(allow_nan=False),
    Kind.BOOL: st.booleans(),
    Kind.STRING: _TEXT,
}


@st.composite
def typed_values(draw: st.DrawFn) -> Typed:
    """A value of any type, or a list of values."""
    kind = draw(st.sampled_from(list(SCALARS)))
    if draw(st.booleans()):
        return draw(SCALARS[kind]), kind, None
    return draw(st.lists(SCALARS[kind], min_size=1, max_size=20)), Kind.ARRAY, kind


METADATA = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(
        lambda key: not key.startswith(("general.", "GGUF."))
    ),
    typed_values(),
    max_size=12,
)


def write_header(
    path: Path,
    metadata: Mapping[str, Typed],
    *,
    tensors: Mapping[str, np.ndarray] | None = None,
    big_endian: bool = False,
    alignment: int | None = None,
) -> Path:
    """A file with these keys and tensors."""
    order = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer = gguf.GGUFWriter(path, "llama", endianess=order)
    if alignment:
        writer.add_custom_alignment(alignment)
    for key, (value, kind, items) in metadata.items():
        writer.add_key_value(key, value, kind, items)
    for name, data in (tensors or {}).items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def changed(header: GgufHeader, **keys: Value) -> GgufHeader:
    """The header with other values; `__` in a name stands for a dot."""
    values = {key.replace("__", "."): value for key, value in keys.items()}
    return replace(header, metadata={**header.metadata, **values})


def parse(data: bytes) -> GgufHeader:
    """The header of a file that consists of these bytes."""
    return read_header(PrefixSource(data, len(data)), "model.gguf")


def text_array(texts: Sequence[str], order: Literal["little", "big"] = "little") -> TextArray:
    """These texts as a header stores them."""
    writer = Bytes(keys=1, order=order).text(b"a").numbers("IIQ", 9, 8, len(texts))
    for text in texts:
        writer.text(text.encode())
    return parse(writer.bytes).texts("a")


class Bytes:
    """Writes a header byte by byte, valid or not."""

    def __init__(
        self,
        *,
        tensors: int = 0,
        keys: int = 0,
        version: int = 3,
        order: Literal["little", "big"] = "little",
        magic: bytes = b"GGUF",
    ) -> None:
        self._mark = "<" if order == "little" else ">"
        self._out = BytesIO()
        self._out.write(magic)
        self.numbers("IQQ", version, tensors, keys)

    def numbers(self, codes: str, *values: float) -> Bytes:
        """Appends numbers, each with its format letter of the struct module."""
        self._out.write(struct.pack(self._mark + codes, *values))
        return self

    def text(self, data: bytes, length: int | None = None) -> Bytes:
        """Appends a string, with a wrong length before it if one is given."""
        self.numbers("Q", len(data) if length is None else length)
        self._out.write(data)
        return self

    def tensor(self, name: bytes, shape: Sequence[int], kind: int = 0, offset: int = 0) -> Bytes:
        """Appends a tensor's description."""
        self.text(name)
        return self.numbers("I" + "Q" * len(shape) + "IQ", len(shape), *shape, kind, offset)

    def padded(self, more: int = 0, alignment: int = 32) -> bytes:
        """The header so far, padded up to the tensors' data, and this many bytes of data."""
        data = self.bytes
        return data + bytes(-len(data) % alignment + more)

    @property
    def bytes(self) -> bytes:
        """The bytes written so far."""
        return self._out.getvalue()
