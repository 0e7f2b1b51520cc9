"""Reads a header byte by byte from a file or from the first bytes of a download, within fixed limits.

The largest known headers stay below half of each limit. Together the limits bound the reader to about 200 MB of memory
and two seconds, whatever a file claims.
"""

from __future__ import annotations

import os
import struct
from array import array
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import HeaderError


class MoreNeeded(Exception):
    """The header continues after the available bytes: call again with at least the first `size` bytes.

    It asks for twice as many each time, but never for more than a header may have.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"the first {size} bytes are needed")
        self.size = size


class ByteSource(Protocol):
    """Bytes at offsets."""

    @property
    def size(self) -> int | None:
        """The size of the whole file in bytes, None if unknown."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only if not all are available, none only after the end."""


class FileSource:
    """An open local file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size: int | None = os.fstat(file.fileno()).st_size

    def read_at(self, offset: int, size: int) -> bytes:
        """Reads from the file. Raises OSError."""
        self._file.seek(offset)
        return self._file.read(size)


class PrefixSource:
    """The first bytes of a file whose whole size may be known; `read_at` raises MoreNeeded after them."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self._data = data
        self.size = size

    def read_at(self, offset: int, size: int) -> bytes:
        """The available part of these bytes. Raises MoreNeeded if none is available yet."""
        if offset >= len(self._data) and (self.size is None or offset < self.size):
            raise MoreNeeded(offset + size if self.size is None else min(offset + size, self.size))
        return self._data[offset : offset + size]


MAX_HEADER_BYTES: Final = 64 * 2**20
"""The whole header. 250,000 tokens with scores, types and twice as many merges take 16 MB."""

MAX_KEYS: Final = 2**14
"""Files have 20 to 100 keys."""

MAX_KEY_BYTES: Final = 2**16 - 1
"""The limit of the format."""

MAX_TEXT_BYTES: Final = 16 * 2**20
"""All single strings and keys together: templates, licences, a tokenizer as JSON. A decoded string can take four times
as many bytes."""

MAX_STRINGS: Final = 3 * 2**19
"""Strings in all arrays together: each takes a step in Python. 262,144 tokens have twice as many merges."""

MAX_NESTED: Final = 2**14
"""Arrays within arrays, each a separate object. No known file has one."""

MAX_DEPTH: Final = 4
"""How deep arrays are nested."""

MAX_TENSORS: Final = 2**15
"""The largest known models have some 2,000."""

MAX_TENSOR_NAME_BYTES: Final = 63
"""llama.cpp rejects longer ones."""

MAX_DIMENSIONS: Final = 4
"""ggml's tensors have up to four."""

MAX_ELEMENTS: Final = 2**63 - 1
"""Elements or bytes of a tensor, and offsets: the largest signed 64-bit number."""

MAX_ALIGNMENT: Final = 2**20
"""Of the tensors' data, in bytes; 32 in nearly all files, 4,096 or 16,384 in some."""


ByteOrder = Literal["little", "big"]

_FIRST = 64 * 1024
"""Bytes of the first read; each later read doubles what is there."""

AGAIN = "download it again"


class Cursor:
    """A position in a header. `data` holds all bytes that were read so far."""

    def __init__(self, source: ByteSource, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.position = 0
        self.source = source
        self.set_order("little")

    def set_order(self, order: ByteOrder) -> None:
        """Sets the byte order of all numbers from here on."""
        self.order: ByteOrder = order
        mark = "<" if order == "little" else ">"
        self.structs = {code: struct.Struct(mark + code) for code in "bBhHiIqQfd"}

    def need(self, end: int) -> None:
        """Makes sure that all bytes before `end` are in `data`. Raises HeaderError, and what the source raises."""
        while len(self.data) < end:
            have, size = len(self.data), self.source.size
            if size is not None and end > size:
                raise self.truncated(end, size)
            if end > MAX_HEADER_BYTES:
                raise self.error(f"its header goes beyond {MAX_HEADER_BYTES} bytes", self.position)
            ahead = min(max(end, 2 * have, _FIRST), MAX_HEADER_BYTES) - have
            more = self.source.read_at(have, ahead if size is None else min(ahead, size - have))
            if not more:
                raise self.truncated(end, have)
            self.data += more

    def number(self, code: str) -> Any:
        """The next number; `code` is its letter in the module struct."""
        form = self.structs[code]
        end = self.position + form.size
        self.need(end)
        value = form.unpack_from(self.data, self.position)[0]
        self.position = end
        return value

    def take(self, size: int) -> bytes:
        """The next bytes."""
        end = self.position + size
        self.need(end)
        taken = bytes(memoryview(self.data)[self.position : end])
        self.position = end
        return taken

    def error(self, problem: str, offset: int, remedy: str = AGAIN) -> HeaderError:
        """The error to raise: names the file, the problem, the position and the remedy."""
        return HeaderError(f"{self.name} could not be loaded: {problem} (at byte {offset}); {remedy}")

    def truncated(self, needed: int, have: int) -> HeaderError:
        """The error to raise if the file ends too early."""
        return HeaderError(f"{self.name} is truncated: it has {have} bytes; {AGAIN} ({needed} bytes at least)")


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
        offset = self._block.find(text)
        while offset >= 0:
            index = int(np.searchsorted(self._ends, offset, side="right"))
            if self.raw(index) == text:
                return True
            offset = self._block.find(text, offset + 1)
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
        own, theirs = self._blocks(shared), other._blocks(shared)
        size = min(len(own), len(theirs))
        differs = own[:size] != theirs[:size]
        if not differs.any():
            return None
        index = int(np.searchsorted(self._ends, int(differs.argmax()), side="right"))
        return next((at for at in range(index, shared) if self.raw(at) != other.raw(at)), None)

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
        offset, have = begin, len(data)
        ends = array("I")
        for _ in range(count):
            if offset + _LENGTH > have:
                cursor.need(offset + _LENGTH)
                have = len(data)
            offset += _LENGTH + unpack(data, offset)[0]
            if offset > have:
                cursor.need(offset)
                have = len(data)
            ends.append(offset - begin)
        return TextArray(cursor.take(offset - begin), np.frombuffer(ends, np.uint32))

    def _unknown(self, key: str, kind: int, offset: int) -> Exception:
        return self._cursor.error(f"{key!r} has a value of the unknown type {kind}", offset)
