"""This machine: its devices, their free memory, and which weight types its CPU copies into another layout."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp._ggml as ggml

from specchat_engine.errors import SettingError
from specchat_engine.gguf import GgufHeader
from specchat_engine.gguf.header import TYPES
from specchat_engine.llama.library import api, loaded_libraries, system_info
from specchat_engine.llama.tiles import find_fault
from specchat_engine.memory.estimate import REPACKED_ARM, REPACKED_X86, TILED
from specchat_engine.memory.placement import DeviceMemory, Machine

_KINDS = ("cpu", "gpu", "integrated gpu", "accelerator", "meta")


def ggml_function(name: str, restype: Any, *argtypes: Any) -> Any:
    """A function of libggml that the binding does not declare."""
    function = getattr(ggml.libggml, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


def _handles() -> list[int]:
    count = ggml_function("ggml_backend_dev_count", ctypes.c_size_t)()
    get = ggml_function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    return [get(index) for index in range(count)]


def _describe(handle: int) -> DeviceMemory:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    size = ctypes.POINTER(ctypes.c_size_t)
    memory = ggml_function("ggml_backend_dev_memory", None, ctypes.c_void_p, size, size)
    memory(handle, ctypes.byref(free), ctypes.byref(total))
    kind = ggml_function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)(handle)
    name, description = (
        ggml_function(f"ggml_backend_dev_{what}", ctypes.c_char_p, ctypes.c_void_p)(handle).decode("utf-8", "replace")
        for what in ("name", "description")
    )
    kind_name = _KINDS[kind] if kind < len(_KINDS) else f"kind {kind}"
    return DeviceMemory(name, kind_name, free.value, total.value, description)


def devices() -> list[DeviceMemory]:
    """All devices of this build, in llama.cpp's order."""
    return [_describe(handle) for handle in _handles()]


def device_array(names: Sequence[str]) -> Any:
    """The NULL-terminated array that llama.cpp takes for these device names, or None if no name is given (all devices).

    Raises SettingError for a name that this build does not have.
    """
    if not names:
        return None
    by_name = {_describe(handle).name.lower(): handle for handle in _handles()}
    for name in names:
        if name.lower() not in by_name:
            raise SettingError(f"there is no device {name!r}: this build has {', '.join(sorted(by_name))}")
    return (ctypes.c_void_p * (len(names) + 1))(*(by_name[name.lower()] for name in names), None)


class _Override(ctypes.Structure):
    """llama.cpp's `llama_model_tensor_buft_override`."""

    _fields_ = [("pattern", ctypes.c_char_p), ("buffer_type", ctypes.c_void_p)]


def override_array(overrides: Sequence[tuple[str, str]]) -> Any:
    """The NULL-terminated array that llama.cpp takes for these patterns and device names, or None if there are none.

    Raises SettingError for a device that this build does not have.
    """
    if not overrides:
        return None
    buffer_type = ggml_function("ggml_backend_dev_buffer_type", ctypes.c_void_p, ctypes.c_void_p)
    handles = device_array([device for _, device in overrides])
    placed = [
        _Override(pattern.encode(), buffer_type(handle))
        for (pattern, _), handle in zip(overrides, handles[:-1], strict=True)
    ]
    return (_Override * (len(placed) + 1))(*placed)


def has_gpu(names: Sequence[str] = ()) -> bool:
    """Whether layers can be placed on a GPU: on one of these devices, or on any if none is named."""
    return supports_gpu_offload() and bool(Machine(tuple(devices())).gpus(names))


def supports_gpu_offload() -> bool:
    """Whether this build can put layers on a GPU."""
    return bool(api.llama_supports_gpu_offload())


_HALVES = frozenset({"F16"})
"""CPUs with AMX copy these types too, though they do not multiply them in tiles."""


def this_machine() -> Machine:
    """The devices that llama.cpp sees, with the memory that is free now."""
    memories = tuple(
        main_memory(device) if device.kind == "cpu" else device for device in devices() if device.kind != "accelerator"
    )
    return Machine(memories, repacked_types(system_info(), broken_tiles=bool(tile_fault())))


def repacked_types(features: str, *, broken_tiles: bool = False) -> frozenset[str]:
    """The types that get a second copy, by llama.cpp's line on the CPU; `broken_tiles` if there is a `tile_fault`."""
    on = set(re.findall(r"(\w+) = 1", features))
    if uses_tiles(features):
        return _HALVES if broken_tiles else _HALVES | TILED | REPACKED_X86 | {"Q2_K"}
    if "REPACK" not in on:
        return frozenset()
    if "AVX2" in on:
        return REPACKED_X86 | ({"Q2_K"} if "AVX512" in on else set())
    return REPACKED_ARM if "DOTPROD" in on else frozenset()


def unused_features(build: str, processor: Collection[str]) -> tuple[str, ...]:
    """What `processor` (Linux's names) can do and a build, by llama.cpp's line on the CPU, does not use."""
    return tuple(name for name, flag in _FEATURES.items() if flag in processor and f"{name} = 1" not in build)


def main_memory(
    host: DeviceMemory, meminfo: Path = Path("/proc/meminfo"), group: Path = Path("/sys/fs/cgroup")
) -> DeviceMemory:
    """Main memory with the bytes that programs can still allocate, where llama.cpp reports all of it.

    A container's limit is its total, and files that are cached in it count as free, as they do in Linux's estimate.
    """
    try:
        free = int(meminfo.read_text("ascii").split("MemAvailable:")[1].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return host
    try:
        limit, used = (int((group / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
        statistics = dict(line.split() for line in (group / "memory.stat").read_text("ascii").splitlines())
        cached = int(statistics["active_file"]) + int(statistics["inactive_file"])
    except (OSError, ValueError, KeyError):
        return replace(host, free=free)
    return replace(host, free=max(0, min(free, limit - used + cached)), total=min(host.total, limit))


_FEATURES = {
    "AVX2": "avx2",
    "FMA": "fma",
    "F16C": "f16c",
    "AVX_VNNI": "avx_vnni",
    "AVX512": "avx512f",
    "AVX512_VNNI": "avx512_vnni",
    "AVX512_BF16": "avx512_bf16",
    "DOTPROD": "asimddp",
    "MATMUL_INT8": "i8mm",
}
"""llama.cpp's names of instruction sets, and Linux's. AMX is left out: `doctor` has a row of its own for it."""


def may_repack(header: GgufHeader, *, apart: bool = False) -> bool:
    """Whether this build may copy weights into another layout; if not, it uses them as they are in the file. `apart` as
    for `tile_fault`."""
    return not (any(tensor.type_name in TILED for tensor in header.tensors) and tile_fault(apart=apart))


def tile_fault(*, apart: bool = False) -> str:
    """What is wrong with the AMX tiles of this build, found by using them; "" if nothing is, or it does not use any.

    llama.cpp configures the tiles once in each thread. PyTorch uses them too, and resets them when it is done: the next
    product of llama.cpp in that thread is an illegal instruction. So a process with PyTorch does without, unless passes
    are made `apart`, in a thread in which PyTorch never computes.
    """
    if not uses_tiles(system_info()):
        return ""
    if "torch" in sys.modules and not apart:
        return "PyTorch, which is in this process, resets them"
    return _fault_of_tiles()


@cache
def _fault_of_tiles() -> str:
    return find_fault(loaded_libraries(), [number for number, (name, *_) in TYPES.items() if name in TILED])


def uses_tiles(features: str) -> bool:
    """Whether a build uses AMX, by llama.cpp's line on the CPU."""
    return "AMX_INT8 = 1" in features


_CLANG = re.compile(rb"clang version (\d[\d.]*)")
_GCC = re.compile(rb"GCC: \([^)\0]*\) (\d[\d.]*)")


def compiler(library: bytes) -> str:
    """The compiler that made a library, such as "GCC 12.2.0", from the notes that linkers collect; "" without any.

    The C library's start code leaves a GCC's note in every library: clang's own counts first, then the newest GCC's.
    """
    if clang := _CLANG.search(library):
        return f"clang {clang[1].decode()}"
    versions = (version.decode() for version in _GCC.findall(library))
    newest = max(versions, key=lambda version: [int(part) for part in version.split(".") if part], default="")
    return newest and f"GCC {newest}"


def build_compiler() -> str:
    """The compiler of the code for the CPU that is in use; "" if that is unknown."""
    try:
        return next((compiler(path.read_bytes()) for path in loaded_libraries() if "ggml-cpu" in path.name), "")
    except OSError:
        return ""
