"""Shared by the servers of the tests: a thread, a list of requests, answers in JSON, and digests of files."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha1, sha256
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
        """Logs nothing."""

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


@lru_cache
def sha256_of(content: bytes) -> str:
    """The digest of these bytes in LFS."""
    return sha256(content).hexdigest()


@lru_cache
def xet_name_of(content: bytes) -> str:
    """The name of these bytes in Xet's storage. Only the storage knows how names are made."""
    return sha256(b"xet" + content).hexdigest()


@lru_cache
def git_oid(content: bytes) -> str:
    """The digest of these bytes in git."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
