"""A file's bytes from Xet's storage, in order, a few windows at once.

hf_xet can write whole files by itself, but not go on within one, and as a stream it tells nothing before whole terms of
up to 64 MiB are there. Windows of a size that takes seconds show that something comes, and lose little when they end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic

import hf_xet  # type: ignore[import-untyped]

from specchat.models.xet.order import Order

_ABREAST = 4
SMALLEST = 2**20
LARGEST = 16 * 2**20
_SOON, _LATE = 1.0, 4.0
"""Seconds between which a window is neither too small nor too large."""

_SETTINGS = {
    "telemetry.enabled": False,
    # Whatever fails, plain HTTPS goes on: so it fails soon, instead of within six minutes.
    "client.connect_timeout": "10s",
    "client.retry_max_attempts": 2,
    "client.retry_base_delay": "500ms",
}


def windows(order: Order) -> Iterator[bytes]:
    """The windows one after the other. Raises EOFError where the storage gives less, and whatever hf_xet raises.

    The process is expected to end soon after: threads that still wait for the storage are not waited for.
    """
    session = hf_xet.XetSession(hf_xet.XetConfig().with_config(_SETTINGS))
    group = session.new_download_stream_group(
        token_refresh_url=order.token_url, token_refresh_headers=order.token_headers
    )

    def fetch(start: int, end: int) -> tuple[bytes, float]:
        began = monotonic()
        window = b"".join(group.download_stream(hf_xet.XetFileInfo(order.hash, order.size), start, end))
        if len(window) != end - start:  # a stream that fails may end like a complete one
            raise EOFError(f"its storage gave {len(window)} of {end - start} bytes")
        return window, monotonic() - began

    pool = ThreadPoolExecutor(_ABREAST)
    coming: deque[Future[tuple[bytes, float]]] = deque()
    start, size = order.start, SMALLEST
    while coming or start < order.size:
        while start < order.size and len(coming) < _ABREAST:
            end = min(start + size, order.size)
            coming.append(pool.submit(fetch, start, end))
            start = end
        window, seconds = coming.popleft().result()
        size = next_size(len(window), seconds)
        yield window


def next_size(size: int, seconds: float) -> int:
    """How large the next window should be, after one of this size took so long."""
    if seconds < _SOON:
        size *= 2
    elif seconds > _LATE:
        size //= 2
    return min(max(size, SMALLEST), LARGEST)
