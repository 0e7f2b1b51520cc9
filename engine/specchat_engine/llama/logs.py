"""llama.cpp's own log: kept in memory for error messages, and passed on to stderr only where asked."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat_engine.llama.library import abort_callback, api, set_abort_callback

_WARN, _ERROR, _CONTINUED = 3, 4, 5
_SIZE = " buffer size = "


class NativeLog:
    """Collects what llama.cpp prints. One instance is installed for the process.

    `sizes` holds the lines that tell how large buffers are, which more talkative ones would push out.
    """

    def __init__(self, keep: int = 200) -> None:
        self.echo = False
        self.sizes: list[str] = []
        self._lines: deque[tuple[int, str]] = deque(maxlen=keep)
        self._callback: Any = api.llama_log_callback(self._receive)

    def install(self) -> None:
        """Makes llama.cpp log here instead of to stderr."""
        api.llama_log_set(self._callback, ctypes.c_void_p(0))

    def clear(self) -> None:
        """Forgets what came so far, so that the next error belongs to the next call."""
        self._lines.clear()
        self.sizes.clear()

    def last_error(self) -> str:
        """The first error since `clear`, in one line; empty where there was none."""
        for level, text in self._lines:
            if level == _ERROR and text.strip():
                return " ".join(text.split()).removeprefix("llama_model_load: ").removeprefix("error loading model: ")
        return ""

    def _receive(self, level: int, text: bytes, _data: Any) -> None:
        line = text.decode("utf-8", "replace")
        if _SIZE in line:
            self.sizes.append(line)
        if level == _CONTINUED and self._lines:
            before, start = self._lines.pop()
            self._lines.append((before, start + line))
        else:
            self._lines.append((level, line))
        if self.echo and level >= _WARN:
            sys.stderr.write(line)


native_log = NativeLog()
native_log.install()


_BUILD_FOLDER = re.compile(r"^\S*/(?=[^/\s]+:\d+:)")


class LastWords:
    """Turns llama.cpp's last line into one that names the model. One instance is installed for the process.

    The line goes to stderr, where the process that started this one may read it, unless `end_with` was called.
    """

    def __init__(self) -> None:
        self._about: tuple[Path, ...] = ()
        self._tell: Callable[[str], None] = _to_stderr
        self._exit_code: int | None = None
        self._callback: Any = abort_callback(self._receive)

    def install(self) -> None:
        """Makes llama.cpp say it here instead of on stderr, with a trace of native code."""
        set_abort_callback(self._callback)

    def about(self, *models: Path) -> None:
        """These files are what llama.cpp is busy with from now on."""
        self._about = models

    def end_with(self, tell: Callable[[str], None], exit_code: int) -> None:
        """Lets a program say it in its own way and end in good order, where the process would be aborted."""
        self._tell, self._exit_code = tell, exit_code

    def line(self, message: str) -> str:
        """What failed, in one line."""
        names = " with ".join(str(model) for model in self._about) or "a model"
        assertion = _BUILD_FOLDER.sub("", " ".join(message.split()))
        return f"llama.cpp cannot use {names}: {assertion}; try the file with another download or build"

    def _receive(self, message: bytes | None) -> None:
        self._tell(self.line((message or b"").decode("utf-8", "replace")))
        if self._exit_code is not None:
            sys.stdout.flush()
            os._exit(self._exit_code)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


last_words = LastWords()
last_words.install()


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
