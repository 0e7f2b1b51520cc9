"""The sizes of a model's and a context's buffers, read from llama.cpp's log: its C interface does not tell them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = re.compile(r"(\S+)\s+(KV|RS|compute) buffer size\s*=\s*([\d.]+) MiB")
"""A line names the device, what the buffer is for, and its size to a hundredth of a MiB."""

_WEIGHTS = re.compile(r"\S+\s+model buffer size\s*=\s*([\d.]+) MiB")

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Buffers:
    """Bytes, on all devices together: what remembers tokens, and what passes work in. None where nothing was told."""

    cache: int | None = None
    compute: int | None = None


def read_buffers(lines: Iterable[str]) -> Buffers:
    """The sizes that the lines of one context's making tell.

    A memory may have several caches, which add up; a working buffer may be made anew, and the last one counts.
    """
    cache: list[float] = []
    compute: dict[str, float] = {}
    for line in lines:
        found = _LINE.search(line)
        if not found:
            continue
        device, kind, size = found.groups()
        if kind == "compute":
            compute[device] = float(size)
        else:
            cache.append(float(size))
    return Buffers(
        cache=round(sum(cache) * _MIB) if cache else None,
        compute=round(sum(compute.values()) * _MIB) if compute else None,
    )


def read_weights(lines: Iterable[str]) -> int | None:
    """The bytes that a model's weights take on all devices together, None where nothing was told.

    Weights that got a layout of their own beside the mapped file count twice, as they lie in memory twice.
    """
    sizes = [float(found[1]) for line in lines if (found := _WEIGHTS.search(line))]
    return round(sum(sizes) * _MIB) if sizes else None
