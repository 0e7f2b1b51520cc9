"""A server on a real socket that gives prepared answers, and notices when a client leaves."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

_HELD_SECONDS = 600.0


@dataclass(frozen=True)
class Reply:
    """An answer to one request: its parts in order.

    After `hold_after` parts it waits until the client leaves. One that `breaks` ends without the end of its body.
    """

    parts: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hold_after: int | None = None
    breaks: bool = False


@dataclass(frozen=True)
class Asked:
    """A request that came."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Replaying:
    """What the server gives: `pages` by path for GET, and `replies` one after the other for POST."""

    pages: dict[str, Reply] = field(default_factory=dict)
    replies: deque[Reply] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    """Set when a client closed its connection while an answer was held."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set when an answer is held."""
    url: str = ""

    @property
    def questions(self) -> list[Any]:
        """The bodies of the requests for answers."""
        return [one.body for one in self.asked if one.body is not None]


def page(value: Any, status: int = 200, **headers: str) -> Reply:
    """An answer with JSON, or with a text."""
    content = value if isinstance(value, str) else json.dumps(value)
    return Reply([content.encode()], status, {"Content-Type": "application/json"} | headers)


def stream(*messages: Any, end: bool = True, **how: Any) -> Reply:
    """A stream of these messages."""
    parts = [f"data: {json.dumps(message)}\n\n".encode() for message in messages]
    return Reply([*parts, *([b"data: [DONE]\n\n"] if end else [])], headers=_STREAM, **how)


def recorded(file: Path, **how: Any) -> Reply:
    """A stream as it was recorded, message by message."""
    parts = file.read_bytes().split(b"\n\n")
    return Reply([part + b"\n\n" for part in parts if part.strip()], headers=_STREAM, **how)


_STREAM = {"Content-Type": "text/event-stream; charset=utf-8"}


@contextmanager
def replaying(**state: Any) -> Iterator[Replaying]:
    """A server that runs until the end of the context."""
    shared = Replaying(**state)
    connections: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)

        def do_GET(self) -> None:
            shared.asked.append(Asked(self.path, dict(self.headers), None))
            self._send(shared.pages.get(self.path, page({"detail": "Not Found"}, 404)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            shared.asked.append(Asked(self.path, dict(self.headers), json.loads(body)))
            self._send(shared.replies.popleft() if shared.replies else page({"detail": "nothing prepared"}, 500))

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in ({"Transfer-Encoding": "chunked"} | dict(reply.headers)).items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for place, part in enumerate(reply.parts):
                    if place == reply.hold_after:
                        self._hold()
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                if reply.hold_after is not None and reply.hold_after >= len(reply.parts):
                    self._hold()
                if not reply.breaks:
                    self.wfile.write(b"0\r\n\r\n")
            except OSError:
                shared.left.set()
            self.close_connection = self.close_connection or reply.breaks

        def _hold(self) -> None:
            """Waits until the client leaves: then there is an end to read."""
            self.wfile.flush()
            shared.held.set()
            ready, _, _ = select.select([self.connection], [], [], _HELD_SECONDS)
            if ready and not self.connection.recv(1):
                shared.left.set()
                raise ConnectionResetError

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    shared.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=lambda: server.serve_forever(0.01), daemon=True)
    thread.start()
    try:
        yield shared
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
