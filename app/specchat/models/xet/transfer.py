"""The process that talks Xet, from the outside: started, listened to, and killed when it is not wanted any more."""

from __future__ import annotations

import os
import re
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from time import monotonic
from typing import IO

from specchat.models.patience import Control
from specchat.models.xet.order import Order
from specchat.terminal.filter import clean_line

_PIECE = 256 * 1024
_LOOK = 0.1
_LAST_WAIT = 5.0
_LONGEST_REASON = 100
_ADDRESS = re.compile(r",? (?:domain:|for url) .*")
# -P: a file named hf_xet.py in the folder where specchat was started must not be imported.
_COMMAND = (sys.executable, "-P", "-m", "specchat.models.xet")


class XetFailed(Exception):
    """Xet brings no more of this file; the message says why."""


def transfer(order: Order, control: Control, silence: float) -> Generator[bytes, None, None]:
    """The bytes that were ordered, as they come. Raises XetFailed, Paused, Stopped; close it, and its process is gone.

    `silence` is how many seconds without a byte are too many.
    """
    with tempfile.TemporaryFile() as said:
        try:
            # A session of its own: Ctrl+C is for the parent, which decides what becomes of the child.
            child = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, start_new_session=True
            )
        except OSError as problem:
            raise XetFailed(f"its process cannot be started: {problem.strerror or problem}") from None
        try:
            if child.stdin is None or child.stdout is None:
                raise XetFailed("its process has no pipes")
            with suppress(BrokenPipeError):
                child.stdin.write(order.line())
                child.stdin.flush()
            yield from _pieces(child.stdout, control, silence)
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LAST_WAIT)
            if child.returncode != 0:
                raise XetFailed(_reason(said, child.returncode))
        finally:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _pieces(pipe: IO[bytes], control: Control, silence: float) -> Iterator[bytes]:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        last = monotonic()
        while True:
            control.check_running()
            if selector.select(_LOOK):
                piece = os.read(pipe.fileno(), _PIECE)
                if not piece:
                    return
                yield piece
                last = monotonic()
            elif monotonic() - last > silence:
                raise XetFailed(f"nothing came for {silence:g} s")


def _reason(said: IO[bytes], status: int | None) -> str:
    """The last line that the process wrote, without hf_xet's long addresses, or how it ended."""
    said.seek(0)
    lines = said.read().decode("utf-8", "replace").strip().splitlines()
    if lines:
        return clean_line(_ADDRESS.sub("", lines[-1]))[:_LONGEST_REASON]
    return f"its process was ended by signal {-status}" if status is not None and status < 0 else "its process failed"
