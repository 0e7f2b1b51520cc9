"""Reads a header byte by byte from a file or from the first bytes of a download, within fixed limits.

The largest known headers stay below half of each limit. Together the limits bound the reader to about 200 MB of memory
and two seconds, whatever a file claims.
"""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO, Final, Literal, Protocol

from specchat_engine.errors import HeaderError


class MoreNeeded(Exception):
    """The header continues after the available bytes: call again with at least the first `size` bytes.

    It asks for twice as many each time, but never for more than a header may have.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"the first {size} bytes are needed")
        self.size = size


class Source(Protocol):
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

    def __init__(self, source: Source, name: str) -> None:
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
