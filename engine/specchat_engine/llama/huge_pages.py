"""Weights in huge pages: a pass reads all of them, and looks up an address for each 4 KB otherwise.

Linux gives huge pages to those who ask before they write, which llama.cpp does not. It can also move what was written
(`MADV_COLLAPSE`, since Linux 6.1), at about 2 GB/s. Files that are mapped are left to the page cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_COLLAPSE = 25
_PAGE = 2**21
"""The size of a huge page on x86 and usually on Arm. Elsewhere the system refuses the call."""

_LEAST = 4 * _PAGE
"""What is smaller stays where it is."""


@contextmanager
def in_huge_pages() -> Iterator[None]:
    """Moves what is allocated meanwhile into huge pages. Does nothing where the system cannot, or lacks the memory."""
    before = _private_memory()
    yield
    if after := _private_memory() - before:
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for begin, end in after:
            madvise(begin, end - begin, _COLLAPSE)


def _private_memory() -> set[tuple[int, int]]:
    """The first and the last address of large memory without a file, in whole pages; none but on Linux."""
    try:
        lines = Path("/proc/self/maps").read_bytes().splitlines()
    except OSError:
        return set()
    found = set()
    for place, access, *_, last in (line.split() for line in lines):
        begin, end = (int(address, 16) for address in place.split(b"-"))
        begin, end = -(-begin // _PAGE) * _PAGE, end // _PAGE * _PAGE
        if access == b"rw-p" and last == b"0" and end - begin >= _LEAST:
            found.add((begin, end))
    return found
