"""What is allocated while a model loads lies in huge pages afterwards, if the system can move it."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from specchat_engine.llama.model import in_huge_pages

_SIZE = 64 * 2**20


def written() -> mmap.mmap:
    """Private memory, with something on each of its pages."""
    memory = mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"\x01" * _SIZE)
    return memory


def in_huge() -> int:
    """The bytes of this process in huge pages, files aside."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))


def can_move() -> bool:
    """Whether this system moves memory into huge pages on demand."""
    if sys.platform != "linux":
        return False
    with mmap.mmap(-1, 2**23, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.write(b"\x01" * 2**23)
        before = in_huge()
        try:
            memory.madvise(25)
        except OSError:
            return in_huge() > before
        return True


@pytest.mark.skipif(not can_move(), reason="the system cannot move memory into huge pages")
def test_memory_that_was_allocated_meanwhile_is_moved_into_huge_pages_and_keeps_its_bytes() -> None:
    before = in_huge()
    with in_huge_pages():
        memory = written()
    assert in_huge() - before >= _SIZE - 2**22
    assert memory[:] == b"\x01" * _SIZE


def test_without_new_memory_nothing_happens() -> None:
    with in_huge_pages():
        small = bytes(10)
    assert small == bytes(10)
