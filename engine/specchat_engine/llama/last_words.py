"""A failed assertion in native code: which file it was about, before it ends the process."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specchat_engine.llama.library import abort_callback, set_abort_callback

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
