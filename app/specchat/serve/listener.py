"""Opens the server's address, and serves an application on it until a signal ends that."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.applications import Starlette

from specchat.errors import ConfigError

_GRACE = 3
"""Seconds that running answers have when the server is asked to end."""

_IDLE = 75
"""Seconds that a connection may be idle; clients keep theirs for less, so none is closed while a request is sent."""

_HEADER_BYTES = 65_536
_BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens. Raises ConfigError if the address cannot be had.

    The protocol is named because asyncio turns Nagle's algorithm off only where it is: each event of a stream goes out
    at once.
    """
    name = host.strip("[]")
    try:
        flags = socket.AI_PASSIVE
        family, kind, protocol, _, address = socket.getaddrinfo(
            name, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=flags
        )[0]
        listening = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
        return listening
    except (OSError, UnicodeError, OverflowError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is no address"
        remedy = "use another --port, or 0 for any" if port else "use another --host"
        raise ConfigError(f"cannot listen on {host!r}, port {port}: {reason}; {remedy}") from None


def address_of(listening: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listening.getsockname()[:2]
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


def server_of(app: Starlette) -> uvicorn.Server:
    """A server that logs nothing and sends no header about itself."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_graceful_shutdown=_GRACE,
            timeout_keep_alive=_IDLE,
        )
    )


async def serve_until_signalled(app: Starlette, listening: socket.socket) -> int | None:
    """Serves until the process gets SIGINT or SIGTERM, ends what runs, and returns the signal."""
    with _remembered_signals() as signals:
        await server_of(app).serve(sockets=[listening])
    return signals[0] if signals else None


@contextmanager
def _remembered_signals() -> Iterator[list[int]]:
    """The server raises the signals that ended it again when it is done: they are only remembered then."""
    signals: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        signals.append(number)

    before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
