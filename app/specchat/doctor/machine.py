"""Findings about the configuration, folders, the built-in models, the terminal and build tools."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from specchat.doctor.report import Finding, Status
from specchat.errors import ConfigError
from specchat.models.environment import hub_environment
from specchat.settings import paths
from specchat.settings.config import read_config
from specchat_assets import BuiltinPairError, builtin_pair

_COMPILERS = ("c++", "g++", "clang++", "cl")
_NARROW = 80


def machine_findings() -> Iterator[Finding]:
    """Configuration and folders, the built-in pair, the terminal, compiler and CMake."""
    yield _configuration()
    yield _folder("data", paths.data_folder())
    yield _folder("cache", paths.cache_folder())
    yield _folder("log", paths.log_folder())
    yield _folder("Hugging Face", hub_environment().cache)
    yield _builtin_pair()
    yield from _terminal()
    yield _tool(
        "C++ compiler", _COMPILERS, "install one: apt install g++, dnf install gcc-c++, or xcode-select --install"
    )
    yield _tool("CMake", ("cmake",), "pip installs its own to build llama-cpp-python; otherwise install cmake")


def _configuration() -> Finding:
    try:
        read_config({})
    except ConfigError as error:
        return Finding("Folders", "configuration", str(error), Status.LACK, "correct the value that is named")
    file = paths.config_file()
    return Finding("Folders", "configuration", f"{file} ({'read' if file.is_file() else 'not there, defaults apply'})")


def _folder(name: str, folder: Path) -> Finding:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if existing.is_dir() and os.access(existing, os.W_OK):
        free = shutil.disk_usage(existing).free / 2**30
        return Finding("Folders", name, f"{folder} ({free:.1f} GiB free)")
    return Finding(
        "Folders", name, f"{folder} cannot be written", Status.LACK, f"make {existing} a folder that you may write"
    )


def _builtin_pair() -> Finding:
    try:
        sizes = [f"{path.name} {path.stat().st_size / 1e6:.0f} MB" for path in builtin_pair()]
    except BuiltinPairError as error:
        return Finding("Models", "built-in pair", "missing", Status.LACK, str(error))
    return Finding("Models", "built-in pair", ", ".join(sizes))


def _terminal() -> Iterator[Finding]:
    if not sys.stdout.isatty():
        yield Finding(
            "Terminal", "output", "not a terminal", Status.NOTE, "the chat needs one; `specchat run` does not"
        )
        return
    console = Console()
    colours = console.color_system or "none"
    wants_none = "NO_COLOR" in os.environ
    remedy = (
        "" if colours == "truecolor" or wants_none else "set COLORTERM=truecolor if the terminal supports all colours"
    )
    value = "none, because NO_COLOR is set; shapes still distinguish outcomes" if wants_none else colours
    yield Finding("Terminal", "colours", value, Status.NOTE if remedy else Status.OK, remedy)
    remedy = "" if console.width >= _NARROW else f"make it {_NARROW} columns wide or wider"
    size = f"{console.width} × {console.height}"
    yield Finding("Terminal", "size", size, Status.NOTE if remedy else Status.OK, remedy)
    encoding = sys.stdout.encoding or "unknown"
    remedy = "" if encoding.lower().replace("-", "") == "utf8" else "use a UTF-8 locale, such as LANG=C.UTF-8"
    yield Finding("Terminal", "encoding", encoding, Status.NOTE if remedy else Status.OK, remedy)


def _tool(name: str, commands: tuple[str, ...], remedy: str) -> Finding:
    program = next((path for command in commands if (path := shutil.which(command))), None)
    if program:
        return Finding("Tools", name, program)
    return Finding("Tools", name, "not found; needed only to build llama.cpp", Status.NOTE, remedy)
