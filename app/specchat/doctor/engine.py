"""Findings about installed versions, llama.cpp's build, its devices, and the number of threads."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from collections.abc import Iterator

from specchat import __version__
from specchat.doctor.report import Finding, Status
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
_TILES = (
    "this processor has AMX, with which a token takes about 0.8 of the time and a pass over eight 0.6: compile "
    "llama.cpp on this machine with CMAKE_ARGS=-DGGML_NATIVE=on in front of `make chat`"
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
    yield Finding("Build", "kind", _kind_of_build(library.cpu_variant(), machine.build_compiler()))
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
    if "amx_int8" in read_features():
        yield _tiles(machine.uses_tiles(library.system_info()), machine.tile_fault())
    for device in machine.devices():
        memory = machine.main_memory(device) if device.kind == "cpu" else device
        yield Finding("Devices", device.name, _describe(memory))
    yield _cores()


def _kind_of_build(variant: str, compiler: str) -> str:
    made = f" by {compiler}" if compiler else ""
    if variant:
        return f"portable{made}, with the code for {variant} chosen for this processor; compiling brings nothing more"
    return f"compiled for one processor{made}"


def _tiles(built_in: bool, fault: str) -> Finding:
    if not built_in:
        return Finding("Build", "AMX", "not built in", Status.NOTE, _TILES)
    if fault:
        return Finding("Build", "AMX", f"tiles are not used for quantised weights: {fault}", Status.NOTE, _TILES)
    return Finding("Build", "AMX", "tiles are used; their results were compared with those of plain code")


def _cores() -> Finding:
    processors = read_processors()
    parts = [f"{processors.cores} physical, {os.cpu_count() or 1} logical"]
    if processors.fast < processors.cores:
        parts.append(f"{processors.fast} of them fast")
    if processors.limit:
        parts.append(f"a control group grants {processors.limit}")
    return Finding("Devices", "cores", ", ".join(parts))


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


def thread_finding() -> Finding:
    """The default number of threads."""
    return Finding("Threads", "to begin with", f"{read_processors().usual}, one for each core that may be used")
