"""The devices that this build of llama.cpp can use."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import llama_cpp
import llama_cpp._ggml as ggml

from specchat_engine.errors import SettingError
from specchat_engine.llama.library import api

_GPUS = ("gpu", "integrated gpu")
_KINDS = ("cpu", "gpu", "integrated gpu", "accelerator", "meta")


@dataclass(frozen=True, slots=True)
class Device:
    """One device as llama.cpp names it, with its memory in bytes."""

    name: str
    description: str
    kind: str
    memory_total: int
    memory_free: int


def _function(name: str, restype: Any, *argtypes: Any) -> Any:
    function = getattr(ggml.libggml, name)
    function.restype = restype
    function.argtypes = argtypes
    return function


def _handles() -> list[int]:
    count = _function("ggml_backend_dev_count", ctypes.c_size_t)()
    get = _function("ggml_backend_dev_get", ctypes.c_void_p, ctypes.c_size_t)
    return [get(index) for index in range(count)]


def _describe(handle: int) -> Device:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    memory = _function(
        "ggml_backend_dev_memory",
        None,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_size_t),
        ctypes.POINTER(ctypes.c_size_t),
    )
    memory(handle, ctypes.byref(free), ctypes.byref(total))
    kind = _function("ggml_backend_dev_type", ctypes.c_int, ctypes.c_void_p)(handle)
    return Device(
        name=_function("ggml_backend_dev_name", ctypes.c_char_p, ctypes.c_void_p)(handle).decode("utf-8", "replace"),
        description=_function("ggml_backend_dev_description", ctypes.c_char_p, ctypes.c_void_p)(handle).decode(
            "utf-8", "replace"
        ),
        kind=_KINDS[kind] if kind < len(_KINDS) else f"kind {kind}",
        memory_total=total.value,
        memory_free=free.value,
    )


def devices() -> list[Device]:
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


def has_gpu(names: Sequence[str] = ()) -> bool:
    """Whether layers can be placed on a GPU: on one of these devices, or on any if none is named."""
    wanted = {name.lower() for name in names}
    found = (device for device in devices() if not wanted or device.name.lower() in wanted)
    return supports_gpu_offload() and any(device.kind in _GPUS for device in found)


def supports_gpu_offload() -> bool:
    """Whether this build can put layers on a GPU."""
    return bool(api.llama_supports_gpu_offload())


def system_info() -> str:
    """The build's features in llama.cpp's own words."""
    return str(api.llama_print_system_info().decode("utf-8", "replace"))


def binding_version() -> str:
    """The version of llama-cpp-python."""
    return str(llama_cpp.__version__)


def llama_version() -> str:
    """The version of llama.cpp that was built in."""
    version = api._lib.llama_version
    version.restype = ctypes.c_char_p
    return str(version().decode("utf-8", "replace"))
