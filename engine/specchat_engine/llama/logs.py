"""What llama.cpp prints: its log, the message of a failed assertion, and the buffer sizes in the log.

The log is kept in memory for error messages and passed on to stderr only on request.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from specchat_engine.llama.library import abort_callback, api, set_abort_callback
from specchat_engine.load_options import Buffers

_WARN, _ERROR, _CONTINUED = 3, 4, 5
_SIZE = " buffer size = "


class NativeLog:
    """Collects llama.cpp's log. One instance is installed for the process.

    `sizes` holds the lines with buffer sizes, which other lines would push out.
    """

    def __init__(self, keep: int = 200) -> None:
        self.echo = False
        self.sizes: list[str] = []
        self._lines: deque[tuple[int, str]] = deque(maxlen=keep)
        self.callback: Any = api.llama_log_callback(self._receive)
        """What a library of llama.cpp can log to."""

    def install(self) -> None:
        """Makes llama.cpp log here instead of to stderr."""
        api.llama_log_set(self.callback, ctypes.c_void_p(0))

    def clear(self) -> None:
        """Drops all lines, so that the next error belongs to the next call."""
        self._lines.clear()
        self.sizes.clear()

    def last_error(self) -> str:
        """The first error since `clear`, in one line; empty if there was none."""
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
    """Turns the message of a failed assertion into a line that names the model. One instance is installed.

    The line goes to stderr, where the parent process may read it, unless `end_with` was called.
    """

    def __init__(self) -> None:
        self._about: tuple[Path, ...] = ()
        self._report: Callable[[str], None] = _to_stderr
        self._exit_code: int | None = None
        self._callback: Any = abort_callback(self._receive)

    def install(self) -> None:
        """Makes llama.cpp report failed assertions here instead of printing them with a native stack trace."""
        set_abort_callback(self._callback)

    def about(self, *models: Path) -> None:
        """Says which files llama.cpp works on from now on."""
        self._about = models

    def end_with(self, report: Callable[[str], None], exit_code: int) -> None:
        """Lets a program report the failure in its own way and exit with a code instead of being aborted."""
        self._report, self._exit_code = report, exit_code

    def line(self, message: str) -> str:
        """What failed, in one line."""
        names = " with ".join(str(model) for model in self._about) or "a model"
        assertion = _BUILD_FOLDER.sub("", " ".join(message.split()))
        return f"llama.cpp cannot use {names}: {assertion}; try the file with another download or build"

    def _receive(self, message: bytes | None) -> None:
        self._report(self.line((message or b"").decode("utf-8", "replace")))
        if self._exit_code is not None:
            sys.stdout.flush()
            os._exit(self._exit_code)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


last_words = LastWords()
last_words.install()


_LINE = re.compile(r"(\S+)\s+(KV|RS|compute) buffer size\s*=\s*([\d.]+) MiB")
"""A line with the device, the purpose of the buffer, and its size to a hundredth of a MiB."""

_WEIGHTS = re.compile(r"\S+\s+model buffer size\s*=\s*([\d.]+) MiB")

_MIB = 2**20


def read_buffers(lines: Iterable[str]) -> Buffers:
    """The sizes in the lines that llama.cpp logged while it made a context.

    Several caches add up. A working buffer may be allocated again; the last one counts.
    """
    cache: list[float] = []
    compute: dict[str, float] = {}
    for line in lines:
        match = _LINE.search(line)
        if not match:
            continue
        device, kind, size = match.groups()
        if kind == "compute":
            compute[device] = float(size)
        else:
            cache.append(float(size))
    return Buffers(
        cache=round(sum(cache) * _MIB) if cache else None,
        compute=round(sum(compute.values()) * _MIB) if compute else None,
    )


def read_weights(lines: Iterable[str]) -> int | None:
    """The bytes of a model's weights on all devices together, None if not logged.

    Weights with a second copy in another layout count twice, since they are in memory twice.
    """
    sizes = [float(match[1]) for line in lines if (match := _WEIGHTS.search(line))]
    return round(sum(sizes) * _MIB) if sizes else None
