"""Where a header's bytes come from: a file, or the first bytes of something far away."""

from __future__ import annotations

import os
from typing import BinaryIO, Protocol


class MoreNeeded(Exception):
    """The header goes on behind the bytes that are there: call again with at least `size` first bytes.

    It asks for twice as many each time, never for more than a header may have.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"the first {size} bytes are needed")
        self.size = size


class Source(Protocol):
    """Bytes at offsets."""

    @property
    def size(self) -> int | None:
        """The size of the whole file in bytes, None where that is not known."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes, fewer only where not all are at hand, none only behind the end."""


class FileSource:
    """An open local file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size: int | None = os.fstat(file.fileno()).st_size

    def read_at(self, offset: int, size: int) -> bytes:
        """Raises OSError."""
        self._file.seek(offset)
        return self._file.read(size)


class PrefixSource:
    """The first bytes of a file whose whole size may be known; `read_at` raises MoreNeeded behind them."""

    def __init__(self, data: bytes, size: int | None = None) -> None:
        self._data = data
        self.size = size

    def read_at(self, offset: int, size: int) -> bytes:
        """What there is of these bytes. Raises MoreNeeded where nothing is, but could be."""
        if offset >= len(self._data) and (self.size is None or offset < self.size):
            raise MoreNeeded(offset + size if self.size is None else min(offset + size, self.size))
        return self._data[offset : offset + size]
