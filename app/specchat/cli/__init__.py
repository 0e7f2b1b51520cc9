"""The command line. Importing it loads neither the terminal app nor the engine, so that `--help` is quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TextIO

from specchat.cli.app import run_command
from specchat.cli.messages import complain
from specchat.errors import INTERRUPTED

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. Without a command it opens the chat."""
    # Python leaves None where the shell closed a stream: `<&-`
    sys.stdin = sys.stdin or _nowhere("r")
    sys.stdout, sys.stderr = sys.stdout or _nowhere("w"), sys.stderr or _nowhere("w")
    try:
        code = run_command(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:  # a full disk, in the help or in what was still to be flushed
        return complain(error)
    finally:
        _flush_quietly()


def _nowhere(mode: Literal["r", "w"]) -> TextIO:
    return Path(os.devnull).open(mode, encoding="utf-8")


def _flush_quietly() -> None:
    """Flushes standard output now: after a closed pipe or a full disk, Python's own flush at exit would fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
