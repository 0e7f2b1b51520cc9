"""Opens the server's address, and serves an application on it until a signal ends that."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from specchat.errors import ConfigError
from specchat.serve.runner import Closing

GRACE = 3
"""Seconds that running answers have when the server is asked to end; what is left then gets an error."""

LATE = 3
"""Seconds that a busy server may take to write these errors."""

FIRST_S = 20
"""Seconds in which a new connection has to send its first request."""

_HEADER_BYTES = 65_536
_BACKLOG = 128

_OTHER_FILES = 4 * _BACKLOG
"""Open files that are not idle connections: the engine's, the log, and those of connections that come all at once."""

_IDLE = 75
"""Seconds that a connection may be idle; clients keep theirs for less, so none is closed while a request is sent."""


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
        reason = (error.strerror if isinstance(error, OSError) else None) or "it is not an address"
        remedy = "use another --port, or 0 for any" if port else "use another --host"
        raise ConfigError(f"cannot listen on {host!r}, port {port}: {reason}; {remedy}") from None


def address_of(listening: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listening.getsockname()[:2]
    name = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}"


class _Connection(H11Protocol):
    """A connection that is closed if no request comes in time, and if new ones need the room of an idle one."""

    made = 0.0
    waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.made = self.loop.time()
        self.waits = self.loop.call_later(FIRST_S, transport.close)
        if len(self.connections) > most_connections():
            self._make_room()

    def _make_room(self) -> None:
        """Closes the idle connection that is open for longest, if too many are open."""
        connections = (each for each in self.connections if isinstance(each, _Connection))
        still_open = [each for each in connections if not each.transport.is_closing()]
        idle = (each for each in still_open if each.idle)
        oldest = min(idle, key=lambda each: each.made, default=None)
        if oldest and len(still_open) > most_connections():
            oldest.transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.waits and not self.idle:
            self.waits.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.waits:
            self.waits.cancel()

    @property
    def idle(self) -> bool:
        """Whether no request of it is being answered."""
        return self.cycle is None or self.cycle.response_complete


def most_connections() -> int:
    """How many connections may be open, by the number of files that the process may open."""
    if os.name != "posix":
        return _OTHER_FILES
    import resource

    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if files == resource.RLIM_INFINITY else max(_BACKLOG, files - _OTHER_FILES)


class _Server(uvicorn.Server):
    """Notifies the application when it is asked to end."""

    def __init__(self, config: uvicorn.Config, closing: Closing | None) -> None:
        super().__init__(config)
        self._closing = closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._closing:
            self._closing.begin(GRACE)
        await super().shutdown(sockets)


def server_of(app: Starlette) -> uvicorn.Server:
    """A server that logs nothing and sends no header about itself."""
    return _Server(
        uvicorn.Config(
            app,
            http=_Connection,
            backlog=_BACKLOG,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_graceful_shutdown=GRACE + LATE + 1,
            timeout_keep_alive=_IDLE,
        ),
        getattr(app.state, "closing", None),
    )


async def serve_until_signalled(app: Starlette, listening: socket.socket, ready: Callable[[], None]) -> int | None:
    """Serves until the process gets SIGINT or SIGTERM, ends what runs, and returns the signal.

    From the call of `ready` on, a signal ends it in that way.
    """
    server = server_of(app)
    with _signals_to(server) as signals:
        ready()
        await server.serve(sockets=[listening])
    return signals[0] if signals else None


@contextmanager
def _signals_to(server: uvicorn.Server) -> Iterator[list[int]]:
    """Remembers the signals, and ends the server by one that comes before it handles them itself.

    When it is done, the server raises the signals that ended it again: they are only remembered then.
    """
    signals: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        signals.append(number)
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
