"""The process that runs hf_xet: `python -m specchat.models.xet_process`.

It reads an order from standard input, one line of JSON with the fields of `Order`. It writes the bytes to standard
output and the reason of a failure to standard error. It ends when its input closes, so it never outlives its parent.

hf_xet can write complete files, but cannot resume one, and as one stream it delivers nothing before whole pieces of up
to 64 MiB are there. So the file is requested in windows, a few at a time. Their size follows the speed of the
connection: each should take some seconds, so that progress shows and little is lost when the process is killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import hf_xet  # type: ignore[import-untyped]

SMALLEST = 2**20
LARGEST = 16 * 2**20
_PARALLEL = 4
_SHORT, _LONG = 1.0, 4.0
"""Windows that take less or more than these seconds are made larger or smaller."""

_SETTINGS = {
    "telemetry.enabled": False,
    # The download continues by HTTPS after a failure, so hf_xet should fail soon instead of after six minutes.
    "client.connect_timeout": "10s",
    "client.retry_max_attempts": 2,
    "client.retry_base_delay": "500ms",
}


@dataclass(frozen=True, slots=True)
class Order:
    """The bytes of a file from `start` to `size`. `name` is the file's name in Xet's storage.

    The hub issues tokens for that storage at `token_url` to requests with `token_headers`.
    """

    name: str
    start: int
    size: int
    token_url: str
    token_headers: dict[str, str]


def windows(order: Order) -> Iterator[bytes]:
    """The bytes in order, one window at a time. Raises EOFError if a window is short, and whatever hf_xet raises."""
    session = hf_xet.XetSession(hf_xet.XetConfig().with_config(_SETTINGS))
    group = session.new_download_stream_group(
        token_refresh_url=order.token_url, token_refresh_headers=order.token_headers
    )

    def fetch(start: int, end: int) -> tuple[bytes, float]:
        began = monotonic()
        window = b"".join(group.download_stream(hf_xet.XetFileInfo(order.name, order.size), start, end))
        if len(window) != end - start:  # a stream that fails can end without an error
            raise EOFError(f"its storage gave {len(window)} of {end - start} bytes")
        return window, monotonic() - began

    pool = ThreadPoolExecutor(_PARALLEL)
    coming: deque[Future[tuple[bytes, float]]] = deque()
    start, size = order.start, SMALLEST
    while coming or start < order.size:
        while start < order.size and len(coming) < _PARALLEL:
            end = min(start + size, order.size)
            coming.append(pool.submit(fetch, start, end))
            start = end
        window, seconds = coming.popleft().result()
        size = next_size(len(window), seconds)
        yield window


def next_size(size: int, seconds: float) -> int:
    """The size of the next window, in bytes, after one of `size` bytes took `seconds`."""
    if seconds < _SHORT:
        size *= 2
    elif seconds > _LONG:
        size //= 2
    return min(max(size, SMALLEST), LARGEST)


def main() -> None:
    """Serves one order and ends the process; its status is 0 if all bytes were written."""
    # What hf_xet may print to descriptor 1 goes to standard error instead of among the bytes.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_input, daemon=True).start()
    status = 1
    try:
        for window in windows(order):
            rest = memoryview(window)
            while rest:
                rest = rest[out.write(rest) :]
        status = 0
    except Exception as error:  # noqa: BLE001 - hf_xet may raise anything, and its reason must reach the parent
        os.write(2, f"\n{error or type(error).__name__}\n".encode())
    finally:
        os._exit(status)  # do not wait for hf_xet's threads


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    main()
