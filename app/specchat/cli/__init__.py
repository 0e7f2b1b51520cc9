"""The command line. Importing it loads neither the terminal app nor the engine, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from specchat.cli.app import run_command
from specchat.errors import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. Without a command it opens the chat."""
    # Python leaves None where the shell closed a stream: `>&-`
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    try:
        return run_command(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _flush_quietly()


def _nowhere() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _flush_quietly() -> None:
    """Flushes standard output now: after a closed pipe or a full disk, Python's own flush at exit would fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
