"""This machine as a place for models: its devices, what they have left, and what its CPU lays out anew."""

from __future__ import annotations

import re
from pathlib import Path

from specchat_engine.llama.amx import crashes_on_tiles, uses_tiles
from specchat_engine.llama.devices import devices, system_info
from specchat_engine.memory.estimate import REPACKED_ARM, REPACKED_X86, TILED
from specchat_engine.memory.placement import DeviceMemory, Machine

_HALVES = frozenset({"F16"})
"""Of these CPUs with AMX get a copy, though they multiply them without it."""


def this_machine() -> Machine:
    """What llama.cpp sees, with the memory that is free now."""
    found = [
        DeviceMemory(
            device.name,
            device.kind,
            _free_memory(device.memory_free) if device.kind == "cpu" else device.memory_free,
            device.memory_total,
        )
        for device in devices()
        if device.kind != "accelerator"
    ]
    return Machine(tuple(found), _repacked(system_info(), broken_tiles=crashes_on_tiles()))


def _repacked(features: str, *, broken_tiles: bool = False) -> frozenset[str]:
    """The types that get a second copy, by llama.cpp's line on the CPU; with `broken_tiles` see `amx`."""
    on = set(re.findall(r"(\w+) = 1", features))
    if uses_tiles(features):
        return _HALVES if broken_tiles else _HALVES | TILED | REPACKED_X86 | {"Q2_K"}
    if "REPACK" not in on:
        return frozenset()
    if "AVX2" in on:
        return REPACKED_X86 | ({"Q2_K"} if "AVX512" in on else set())
    return REPACKED_ARM if "DOTPROD" in on else frozenset()


def _free_memory(otherwise: int) -> int:
    """Bytes that programs can still get; llama.cpp tells the total for the CPU."""
    try:
        text = Path("/proc/meminfo").read_text("ascii")
        free = int(text.split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return otherwise
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text("ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text("ascii"))
    except (OSError, ValueError):
        return free
    return max(0, min(free, limit - used))
