"""Whether llama.cpp may lay a model's weights out anew for the CPU: not where its code for Intel's AMX would crash.

That code describes its tiles to the processor by `_tile_loadconfig`. GCC took this to read eight bytes of the 64 until
11.5, 12.4, 13.3 and 14 (its bug 114098) and leaves the others away: a library made by such a compiler ends with a
segmentation fault in its first pass of two tokens over weights of most quantised types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from specchat_engine.gguf import Header
from specchat_engine.llama.devices import system_info
from specchat_engine.memory.estimate import TILED

_MENDED = {11: 5, 12: 4, 13: 3}
"""GCC 10 knows nothing of tiles, and what an older one made of a library are a few lines around its code."""

_OURS = re.compile(r"/lib(ggml|llama)[^/]*$")
_MADE_BY = re.compile(rb"GCC: \([^)\0]*\) (\d+)\.(\d+)")


def lays_out_anew(header: Header) -> bool:
    """Whether this build may keep weights in a layout of its own; if not it works on those of the file."""
    return not (crashes_on_tiles() and any(tensor.type_name in TILED for tensor in header.tensors))


@cache
def crashes_on_tiles() -> bool:
    """Whether this build uses AMX and a compiler made it that leaves tiles undescribed."""
    return uses_tiles(system_info()) and any(map(_is_broken, _libraries()))


def uses_tiles(features: str) -> bool:
    """Whether a build computes with AMX, by llama.cpp's line on the CPU."""
    return "AMX_INT8 = 1" in features


def leaves_tiles_out(library: bytes) -> bool:
    """Whether a compiler that leaves tiles undescribed made this library; another than GCC does not."""
    versions = ((int(major), int(minor)) for major, minor in _MADE_BY.findall(library))
    return any(minor < _MENDED.get(major, 0) for major, minor in versions)


def _is_broken(path: Path) -> bool:
    try:
        return leaves_tiles_out(path.read_bytes())
    except OSError:
        return True


def _libraries() -> Iterable[Path]:
    """The files of llama.cpp in this process, as Linux tells of them."""
    try:
        maps = Path("/proc/self/maps").read_text("utf-8", "surrogateescape")
    except OSError:
        return ()
    return {Path(line.split(maxsplit=5)[5]) for line in maps.splitlines() if _OURS.search(line)}
