"""llama.cpp's own server, as `make bench-peers` builds it beside the environment, on a free port of this machine."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

BINARY = Path(sys.prefix) / "llama-source" / "server" / "bin" / "llama-server"
_START_SECONDS = 120.0


def is_built() -> bool:
    """Whether there is such a server here."""
    return BINARY.exists()


@contextmanager
def running_llama_server(target: Path, *flags: str, log: Path) -> Iterator[str]:
    """The URL of a server with this model; it ends with the context."""
    port = free_port()
    with started(("-m", str(target), "--host", "127.0.0.1", "--port", str(port), *flags), port, log) as url:
        yield url


@contextmanager
def started(words: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """The URL of a server that was started with these words; it ends with the context."""
    with log.open("wb") as written:
        process = subprocess.Popen((str(BINARY), *words), stdout=written, stderr=subprocess.STDOUT)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(600)


def wait_until_healthy(url: str, process: subprocess.Popen[bytes], seconds: float = _START_SECONDS) -> None:
    """Returns when the server answers. Raises RuntimeError if it ends, or takes longer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            with urlopen(f"{url}/health", timeout=5):
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError("the server does not start")


def json_at(url: str, *, key: str = "") -> Any:
    """The JSON that a GET gives."""
    return json.loads(page_of(url, key=key))


def page_of(url: str, *, key: str = "") -> str:
    """The text that a GET gives."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with urlopen(Request(url, headers=headers), timeout=600) as response:
        return str(response.read().decode())


def until(holds: Callable[[], bool], seconds: float = 600.0) -> bool:
    """Whether something comes to hold within this time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
