"""This machine as a place for models: its devices, what they have left, and what its CPU lays out anew."""

from __future__ import annotations

import re
from pathlib import Path

from specchat_engine.footprint.estimate import REPACKED_ARM, REPACKED_X86
from specchat_engine.footprint.placement import DeviceMemory, Machine
from specchat_engine.llama.devices import devices, system_info


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
    return Machine(tuple(found), _repacked(system_info()))


def _repacked(features: str) -> frozenset[str]:
    """The types that get a second copy, by llama.cpp's line on the CPU."""
    on = set(re.findall(r"(\w+) = 1", features))
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
