"""llama.cpp's own log: kept in memory for error messages, and passed on to stderr only where asked."""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from typing import Any

from specchat_engine.llama.library import api

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
