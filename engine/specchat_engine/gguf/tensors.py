"""A header's list of tensors: names, shapes, types and positions, and whether they are possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from specchat_engine.gguf.cursor import MAX_DIMENSIONS, MAX_ELEMENTS, MAX_TENSOR_NAME_BYTES, Cursor
from specchat_engine.gguf.values import ValueReader

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


def read_tensor(cursor: Cursor, values: ValueReader, alignment: int) -> TensorInfo:
    """The next tensor's description. Raises HeaderError."""
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


def check_places(cursor: Cursor, tensors: Sequence[TensorInfo], data_offset: int) -> None:
    """Raises HeaderError if tensors overlap or end after the end of the file, if that is known."""
    size, end, before = cursor.source.size, 0, None
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        if before and tensor.offset < end:
            raise cursor.error(f"tensors {before.name!r} and {tensor.name!r} overlap", data_offset + tensor.offset)
        end = tensor.offset + (1 if tensor.size is None else tensor.size)
        if size is not None and data_offset + end > size:
            raise cursor.truncated(data_offset + end, size)
        before = tensor
