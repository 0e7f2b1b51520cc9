"""Goes through a header byte by byte, reading ahead, and never beyond what a header may take."""

from __future__ import annotations

import struct
from typing import Any, Literal

from specchat_engine.errors import HeaderError
from specchat_engine.gguf.limits import MAX_HEADER_BYTES
from specchat_engine.gguf.source import Source

ByteOrder = Literal["little", "big"]

_FIRST = 64 * 1024
"""Bytes of the first read; each later one asks for as many as there are already."""

AGAIN = "download it again"


class Cursor:
    """A place in a header. `data` holds all bytes that were read so far."""

    def __init__(self, source: Source, name: str) -> None:
        self.name = name
        self.data = bytearray()
        self.position = 0
        self.source = source
        self.set_order("little")

    def set_order(self, order: ByteOrder) -> None:
        """How numbers are read from here on."""
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
        """What to raise: the file, what is wrong, where, what to do."""
        return HeaderError(f"{self.name} could not be loaded: {problem} (at byte {offset}); {remedy}")

    def truncated(self, needed: int, have: int) -> HeaderError:
        """What to raise where the file ends too early."""
        return HeaderError(f"{self.name} is truncated: it has {have} bytes; {AGAIN} ({needed} bytes at least)")
