"""The values of a header's keys: numbers, texts and arrays of them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from specchat_engine.gguf.cursor import MAX_DEPTH, MAX_NESTED, MAX_STRINGS, MAX_TEXT_BYTES, Cursor

_CODES: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
"""Value types of the format to letters of the module struct, which numpy shares."""

_BOOL, _STRING, _ARRAY = 7, 8, 9
_LENGTH = 8
"""The number of bytes for the length before each string."""


class TextArray:
    """Many texts in one block of bytes, decoded on access; bytes that are not UTF-8 become U+FFFD."""

    __slots__ = ("_block", "_ends")

    def __init__(self, block: bytes, ends: NDArray[np.uint32]) -> None:
        """`block` holds the length and the bytes of each text in turn; `ends` says where each one ends in it."""
        self._block = block
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, index: int) -> str:
        """One text. Raises IndexError."""
        return self.raw(index).decode("utf-8", "replace")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} texts>"

    def raw(self, index: int) -> bytes:
        """One text's bytes. Raises IndexError."""
        if not 0 <= index < len(self._ends):
            raise IndexError(index)
        start = int(self._ends[index - 1]) if index else 0
        return self._block[start + _LENGTH : int(self._ends[index])]

    def has(self, text: bytes) -> bool:
        """Whether one of the texts has these bytes."""
        place = self._block.find(text)
        while place >= 0:
            index = int(np.searchsorted(self._ends, place, side="right"))
            if self.raw(index) == text:
                return True
            place = self._block.find(text, place + 1)
        return False

    @property
    def has_twins(self) -> bool:
        """Whether two texts are equal as llama.cpp reads them: up to a zero byte, ignoring empty ones."""
        block, ends = self._block, self._ends.tolist()
        texts = [block[start + _LENGTH : end] for start, end in zip([0, *ends], ends, strict=False)]
        if b"\0" in b"".join(texts):
            texts = [text.partition(b"\0")[0] for text in texts]
        empty = texts.count(b"")
        return len(set(texts)) < len(texts) - empty + bool(empty)

    def first_difference(self, other: TextArray) -> int | None:
        """The first index whose texts differ; None if one array begins with the other."""
        shared = min(len(self), len(other))
        if not shared:
            return None
        one, two = self._blocks(shared), other._blocks(shared)
        size = min(len(one), len(two))
        differs = one[:size] != two[:size]
        if not differs.any():
            return None
        index = int(np.searchsorted(self._ends, int(differs.argmax()), side="right"))
        return next((place for place in range(index, shared) if self.raw(place) != other.raw(place)), None)

    def _blocks(self, count: int) -> NDArray[np.uint8]:
        return np.frombuffer(self._block, np.uint8, int(self._ends[count - 1]))


Value: TypeAlias = "int | float | bool | str | NDArray[np.generic] | TextArray | tuple[Value, ...]"
"""A tuple is an array of arrays."""


class ValueReader:
    """Reads values one after the other and counts their total size."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._text_bytes = self._strings = self._nested = 0

    def text(self, most: int, what: str) -> tuple[bytes, int]:
        """A string's bytes and its position. Raises HeaderError for one of more than `most` bytes."""
        cursor, start = self._cursor, self._cursor.position
        length = cursor.number("Q")
        if length > most:
            raise cursor.error(f"{what} has {length} bytes, at most {most} are read", start)
        self._text_bytes += length
        if self._text_bytes > MAX_TEXT_BYTES:
            raise cursor.error(f"its texts have more than {MAX_TEXT_BYTES} bytes together", start)
        return cursor.take(length), start

    def value(self, key: str) -> Value:
        """The value of a key: its type, then the value itself. Raises HeaderError."""
        start = self._cursor.position
        kind = self._cursor.number("I")
        if kind == _STRING:
            return self.text(MAX_TEXT_BYTES, f"the text of {key!r}")[0].decode("utf-8", "replace")
        if kind == _ARRAY:
            return self._array(key, 1)
        if kind not in _CODES:
            raise self._unknown(key, kind, start)
        value: int | float = self._cursor.number(_CODES[kind])
        return bool(value) if kind == _BOOL else value

    def _array(self, key: str, depth: int) -> Value:
        cursor, start = self._cursor, self._cursor.position
        kind, count = cursor.number("I"), cursor.number("Q")
        if kind == _STRING:
            return self._texts(key, count, start)
        if kind == _ARRAY:
            self._nested += count
            if depth == MAX_DEPTH or self._nested > MAX_NESTED:
                raise cursor.error(f"{key!r} has arrays in arrays, deeper or more than are read", start)
            return tuple(self._array(key, depth + 1) for _ in range(count))
        if kind not in _CODES:
            raise self._unknown(key, kind, start)
        dtype = np.dtype(_CODES[kind]).newbyteorder("<" if cursor.order == "little" else ">")
        numbers = np.frombuffer(cursor.take(count * dtype.itemsize), dtype)
        return numbers != 0 if kind == _BOOL else numbers

    def _texts(self, key: str, count: int, start: int) -> TextArray:
        cursor = self._cursor
        self._strings += count
        if self._strings > MAX_STRINGS:
            raise cursor.error(f"{key!r} claims {count} texts, at most {MAX_STRINGS} are read", start)
        data, unpack, begin = cursor.data, cursor.structs["Q"].unpack_from, cursor.position
        place, have = begin, len(data)
        ends = array("I")
        for _ in range(count):
            if place + _LENGTH > have:
                cursor.need(place + _LENGTH)
                have = len(data)
            place += _LENGTH + unpack(data, place)[0]
            if place > have:
                cursor.need(place)
                have = len(data)
            ends.append(place - begin)
        return TextArray(cursor.take(place - begin), np.frombuffer(ends, np.uint32))

    def _unknown(self, key: str, kind: int, offset: int) -> Exception:
        return self._cursor.error(f"{key!r} has a value of the unknown type {kind}", offset)
