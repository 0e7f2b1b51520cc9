"""Findings about installed versions, llama.cpp's build, its devices, and the threads of pairs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator

from specchat import __version__
from specchat.doctor.report import Finding, Status
from specchat.worker.records import kept_choices
from specchat_engine.errors import NativeLibraryError
from specchat_engine.memory.placement import DeviceMemory
from specchat_engine.threads.processors import read_features, read_processors

_GPU_BUILDS = (
    "build llama.cpp for it: CMAKE_ARGS=-DGGML_CUDA=on (NVIDIA), -DGGML_METAL=on (Apple), -DGGML_VULKAN=on, "
    "-DGGML_HIP=on (AMD), in front of `make chat` in a fresh checkout"
)
_QUICKER = (
    "this processor also has {}, which makes reading prompts faster: compile llama.cpp on this machine with "
    "CMAKE_ARGS=-DGGML_NATIVE=on in front of `make chat`"
)
_NO_TILES = (
    "compile llama.cpp with a newer one (GCC 13.3, 14 or Clang), or without AMX, which is faster than this build: "
    "CMAKE_ARGS='-DCMAKE_C_FLAGS=-mno-amx-int8 -DCMAKE_CXX_FLAGS=-mno-amx-int8' in front of `make chat`"
)
_OFFLOAD = "offload was tested with Vulkan on a software device, not yet on a GPU"
_GIB = 2**30


def engine_findings() -> Iterator[Finding]:
    """The versions, llama.cpp's build features, its devices, and the processor's cores."""
    yield Finding("Versions", "specchat", __version__)
    yield Finding("Versions", "python", f"{platform.python_version()} ({sys.executable})")
    for package in ("llama-cpp-python", "textual"):
        yield _package(package)
    try:
        from specchat_engine.llama import library, machine, mtmd
    except NativeLibraryError as error:
        yield Finding("Versions", "llama.cpp", error.reason.removeprefix("llama.cpp "), Status.LACK, error.remedy)
        return
    yield Finding("Versions", "llama.cpp", library.llama_version())
    yield Finding("Build", "kind", _kind_of_build(library.cpu_variant()))
    yield Finding("Build", "libraries", str(library.LIBRARIES))
    unused = machine.unused_features(library.system_info(), read_features())
    remedy = _QUICKER.format(", ".join(unused)) if unused else ""
    yield Finding("Build", "features", library.system_info(), Status.NOTE if remedy else Status.OK, remedy)
    if machine.supports_gpu_offload():
        yield Finding("Build", "GPU offload", "built in", Status.NOTE, _OFFLOAD)
    else:
        yield Finding("Build", "GPU offload", "not built in", Status.NOTE, f"for a machine with a GPU, {_GPU_BUILDS}")
    if mtmd.has_mtmd():
        yield Finding("Build", "images", "libmtmd is built in")
    else:
        yield Finding("Build", "images", "not built in", Status.NOTE, f"for models that see, {mtmd.BUILD_WITH}")
    if machine.crashes_on_tiles():
        told = "not used for quantised weights: this build's compiler does not set up the tiles correctly"
        yield Finding("Build", "AMX", told, Status.NOTE, _NO_TILES)
    for device in machine.devices():
        yield Finding("Devices", device.name, _describe(device))
    yield _cores()


def _kind_of_build(variant: str) -> str:
    if variant:
        return f"portable, with the code for {variant} chosen for this processor; compiling brings nothing more"
    return "compiled for one processor"


def _cores() -> Finding:
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


def _describe(device: DeviceMemory) -> str:
    memory = f"{device.free / _GIB:.1f} of {device.total / _GIB:.1f} GiB free"
    return f"{device.kind}: {device.description}, {memory}"


SECTION = "Threads"
BEGIN = "to begin with"
_SHOWN = 5
"""The most pairs shown, the latest first."""


def thread_findings() -> Iterator[Finding]:
    """The default number of threads, and what was chosen for each pair, with the reason."""
    usual = read_processors().usual
    yield Finding(SECTION, BEGIN, f"{usual}, one for each core that may be used")
    for place, (models, choices) in enumerate(kept_choices()):
        if place == _SHOWN:
            return
        told = (f"{role} {choice}" for role, choice in choices.items())
        yield Finding(SECTION, " + ".join(models), "; ".join(told))
