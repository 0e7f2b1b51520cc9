"""The doctor's look at the installed versions, llama.cpp's build, and the devices that it can compute on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from specchat import __version__
from specchat.doctor.report import Finding, Status

if TYPE_CHECKING:
    from specchat_engine.llama.devices import Device

_REINSTALL = "pip install --force-reinstall --no-cache-dir llama-cpp-python=={version}"
_GPU_BUILDS = (
    "build llama.cpp for it: CMAKE_ARGS=-DGGML_CUDA=on (NVIDIA), -DGGML_METAL=on (Apple), -DGGML_VULKAN=on, "
    "-DGGML_HIP=on (AMD), in front of `make chat` in a fresh checkout"
)
_NO_TILES = (
    "compile llama.cpp with a newer one (GCC 13.3, 14 or Clang), or for this one without AMX, which is quicker than "
    "leaving the weights as they are: CMAKE_ARGS='-DCMAKE_C_FLAGS=-mno-amx-int8 -DCMAKE_CXX_FLAGS=-mno-amx-int8' in "
    "front of `make chat`"
)
_GIB = 2**30
_PINNED = "0.3.36"


def engine_findings() -> Iterator[Finding]:
    """Versions, then what llama.cpp was built with, its devices, and the processor's cores."""
    yield Finding("Versions", "specchat", __version__)
    yield Finding("Versions", "python", f"{platform.python_version()} ({sys.executable})")
    for package in ("llama-cpp-python", "textual"):
        yield _package(package)
    try:
        from specchat_engine.llama import devices, machine
    except (ImportError, OSError, RuntimeError) as error:
        remedy = f"install it again: {_REINSTALL.format(version=_PINNED)}"
        yield Finding("Versions", "llama.cpp", f"cannot be loaded: {error}", Status.LACK, remedy)
        return
    yield Finding("Versions", "llama.cpp", devices.llama_version())
    yield Finding("Build", "features", devices.system_info())
    if devices.supports_gpu_offload():
        yield Finding("Build", "GPU offload", "built in", Status.NOTE, "GPU offload: untested by this project so far")
    else:
        yield Finding("Build", "GPU offload", "not built in", Status.NOTE, f"for a machine with a GPU, {_GPU_BUILDS}")
    if machine.crashes_on_tiles():
        told = "not used for quantised weights: the compiler that made this build leaves its tiles undescribed"
        yield Finding("Build", "AMX", told, Status.NOTE, _NO_TILES)
    for device in devices.devices():
        yield Finding("Devices", device.name, _describe(device))
    yield _cores()


def _cores() -> Finding:
    from specchat_engine.threads.processors import read_processors

    found = read_processors()
    told = [f"{found.cores} physical, {os.cpu_count() or 1} logical"]
    if found.fast < found.cores:
        told.append(f"{found.fast} of them fast")
    if found.limit:
        told.append(f"a control group grants {found.limit}")
    return Finding("Devices", "cores", ", ".join(told))


def _package(name: str) -> Finding:
    try:
        return Finding("Versions", name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "Versions", name, "not installed", Status.LACK, f"install specchat again, or: pip install {name}"
        )


def _describe(device: Device) -> str:
    memory = f"{device.memory_free / _GIB:.1f} of {device.memory_total / _GIB:.1f} GiB free"
    return f"{device.kind}: {device.description}, {memory}"
