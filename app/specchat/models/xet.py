"""Downloading from Xet, the hub's storage for large files.

hf_xet is native code that cannot be paused. It runs in a process of its own (`xet_process`), which is killed when the
download pauses, is cancelled, or gets no bytes for too long. The bytes come back through a pipe, in order.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib.util import find_spec
from time import monotonic
from typing import IO
from urllib.parse import urljoin, urlsplit

from huggingface_hub.constants import HUGGINGFACE_HEADER_X_XET_HASH

from specchat.errors import HubError
from specchat.models.control import Control
from specchat.models.environment import hub_environment
from specchat.models.model_files import HubFile
from specchat.models.transport import TemporaryError, own_headers, request
from specchat.terminal.filter import clean_line

_NAME = re.compile(r"[0-9a-f]{64}")
_REDIRECTS = 3
_PIECE = 256 * 1024
_POLL = 0.1
_LAST_WAIT = 5.0
_LONGEST_REASON = 100
_ADDRESS = re.compile(r",? (?:domain:|for url) .*")
# -P: a file named hf_xet.py in the current folder must not be imported.
_COMMAND = (sys.executable, "-P", "-m", "specchat.models.xet_process")


class XetFailed(Exception):
    """Xet cannot deliver the rest of this file. The message says why."""


class XetSwitch:
    """Whether the files of a pull come by Xet. It is turned off after the first failure. Safe in any thread."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._lock = threading.Lock()
        self._on = wanted and os.name == "posix" and hub_environment().xet and find_spec("hf_xet") is not None

    @property
    def on(self) -> bool:
        """True while Xet is to be used."""
        return self._on

    def turn_off(self) -> bool:
        """Leaves the rest to plain HTTPS. Returns True if it was on before."""
        with self._lock:
            was_on, self._on = self._on, False
        return was_on


def xet_name(file: HubFile, timeout: float) -> str | None:
    """The name of a file in Xet's storage; None if it is not there or the hub cannot be asked."""
    url = file.url
    try:
        for _ in range(_REDIRECTS):
            with request(url, method="HEAD", redirects=False, timeout=timeout) as response:
                name = response.headers.get(HUGGINGFACE_HEADER_X_XET_HASH, "")
                to = response.headers.get("Location", "")
            if _NAME.fullmatch(name):
                return name
            if not to or urlsplit(to).netloc:
                return None
            url = urljoin(url, to)  # the repository was renamed
    except (TemporaryError, HubError):
        return None
    return None


def xet_bytes(file: HubFile, name: str, start: int, control: Control, timeout: float) -> Generator[bytes, None, None]:
    """The bytes of a file from `start` on, as they arrive. Closing the generator ends its process.

    Raises XetFailed, also if no byte comes for `timeout` seconds, Paused and Stopped.
    """
    order = {
        "name": name,
        "start": start,
        "size": file.size,
        "token_url": file.xet_token_url,
        "token_headers": own_headers(),
    }
    with tempfile.TemporaryFile() as errors:
        try:
            # A session of its own, so that Ctrl+C reaches only the parent, which then ends the child.
            child = subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        except OSError as problem:
            raise XetFailed(f"its process cannot be started: {problem.strerror or problem}") from None
        try:
            if child.stdin is None or child.stdout is None:
                raise XetFailed("its process has no pipes")
            with suppress(BrokenPipeError):
                child.stdin.write(json.dumps(order).encode() + b"\n")
                child.stdin.flush()
            yield from _pieces(child.stdout, control, timeout)
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LAST_WAIT)
            if child.returncode != 0:
                raise XetFailed(_reason(errors, child.returncode))
        finally:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()


def _pieces(pipe: IO[bytes], control: Control, timeout: float) -> Iterator[bytes]:
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        last = monotonic()
        while True:
            control.check_running()
            if selector.select(_POLL):
                piece = os.read(pipe.fileno(), _PIECE)
                if not piece:
                    return
                yield piece
                last = monotonic()
            elif monotonic() - last > timeout:
                raise XetFailed(f"nothing came for {timeout:g} s")


def _reason(errors: IO[bytes], status: int | None) -> str:
    """The last line that the process wrote, without hf_xet's long addresses, or else how it ended."""
    errors.seek(0)
    lines = errors.read().decode("utf-8", "replace").strip().splitlines()
    if lines:
        return clean_line(_ADDRESS.sub("", lines[-1]))[:_LONGEST_REASON]
    return f"its process was ended by signal {-status}" if status is not None and status < 0 else "its process failed"
