"""The end of the engine's log, for a bug report: lines of known shapes only, since others may repeat what was said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

TAIL = 64 * 1024
"""Bytes at the end of the log that are looked at."""

_NATIVE = re.compile(r"(?:llama|ggml|gguf|print_info|load|init|sched|graph|cuda|metal|vulkan)[\w.:~<>]*: ")
_ASSERTION = re.compile(r"\S+:\d+: GGML_(?:ASSERT|ABORT)\(.*\) failed|GGML_(?:ASSERT|ABORT)\(.*\) failed")
_FRAME = re.compile(r'  File "[^"]+", line \d+, in \S+')
_TITLE = re.compile(r"Traceback \(most recent call last\):|During handling of the above exception, another|\s*\^+\s*$")
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning))(?::|$)")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def log_tail(path: Path) -> list[str]:
    """The last lines of a log, an incomplete first one left out; none where it cannot be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return lines[1:] if size > TAIL else lines


def filtered(lines: Iterable[str]) -> Iterator[str]:
    """What llama.cpp says of itself, without quoted texts, and tracebacks without their messages.

    Every other line is told by its length alone.
    """
    source_follows = False
    for line in lines:
        if source_follows and line.startswith("    "):
            yield line
            source_follows = False
            continue
        source_follows = _FRAME.fullmatch(line) is not None
        if source_follows or _TITLE.match(line) or not line.strip():
            yield line
        elif _NATIVE.match(line) or _ASSERTION.fullmatch(line):
            yield _QUOTED.sub("'…'", line)
        elif exception := _EXCEPTION.match(line):
            yield f"{exception.group(1)}: (message left out)"
        else:
            yield f"({len(line)} characters left out)"
