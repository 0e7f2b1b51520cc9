"""Shared by the servers of the tests: a thread, a list of requests, and answers in JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from support.hub_files import FileHandler

if TYPE_CHECKING:
    from support.hub_server import Hub


@dataclass(frozen=True)
class Asked:
    """One request to a server."""

    server: str
    method: str
    path: str
    headers: Mapping[str, str]


class Handler(FileHandler, BaseHTTPRequestHandler):
    """One request to one of the servers."""

    protocol_version = "HTTP/1.1"
    name = ""

    @property
    def hub(self) -> Hub:
        found: Hub = vars(self.server)["hub"]
        return found

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Says nothing."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        self.hub.asked.append(Asked(self.name, self.command, self.path, dict(self.headers.items())))
        try:
            self.route()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def route(self) -> None:
        raise NotImplementedError

    def json(self, value: object, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(value).encode()
        self.reply(200, body, {"Content-Type": "application/json", **(headers or {})})

    def refuse(self, status: int, code: str, message: str) -> None:
        body = json.dumps({"error": message}).encode()
        self.reply(status, body, {"X-Error-Code": code, "X-Error-Message": message, "Content-Type": "application/json"})


@contextmanager
def serving(hub: Hub, handler: type[Handler]) -> Iterator[str]:
    """One server until the end of the block. Yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    vars(server)["hub"] = hub
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        hub.stopping.set()
        server.shutdown()
        server.server_close()
