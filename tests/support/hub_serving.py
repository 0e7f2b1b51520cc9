"""Shared by the servers of the tests: a thread, a list of requests, answers in JSON, and digests of files."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from support.hub_faults import Fault, Wrong

if TYPE_CHECKING:
    from support.hub_server import Hub


PIECE = 16 * 1024
_OTHER = bytes(byte ^ 0x55 for byte in range(256))
_RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


@dataclass(frozen=True)
class Asked:
    """One request to a server."""

    server: str
    method: str
    path: str
    headers: Mapping[str, str]


class Handler(BaseHTTPRequestHandler):
    """One request to one of the servers."""

    protocol_version = "HTTP/1.1"
    name = ""
    lasts = True
    """Whether a slow file lasts until the hub is slow no more: then its end comes byte by byte."""
    headers: Message[str, str]

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

    def reply(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        """Sends a complete answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def misbehaved(self, fault: Fault | None) -> bool:
        """Answers with a fault that needs no file. Returns False if there is none."""
        match fault:
            case Fault(Wrong.STATUS, status):
                self.reply(status, b"out of order", {})
            case Fault(Wrong.LIMIT, seconds):
                self.reply(429, b"too many requests", {"Retry-After": str(seconds)})
            case Fault(Wrong.LOOP):
                self.reply(302, b"", {"Location": self.path})
            case Fault(Wrong.PORTAL):
                self.reply(200, b"<html>log in first</html>", {"Content-Type": "text/html"})
            case Fault(Wrong.STALL, 0):
                self.hub.stopping.wait(600)
                self.close_connection = True
            case _:
                return False
        return True

    def file(self, content: bytes, etag: str, headers: Mapping[str, str]) -> None:
        """Sends the file or the requested range, with the fault if there is one."""
        fault = self.hub.faults.take(api=False)
        if self.misbehaved(fault):
            return
        wrong = {fault.wrong: fault.amount} if fault else {}
        if Wrong.CHANGE in wrong:
            content, etag = content.translate(_OTHER), f"{etag}-changed"
        if Wrong.CORRUPT in wrong:
            place = wrong[Wrong.CORRUPT]
            content = content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]
        if Wrong.SHORTER in wrong:
            content = content[: -wrong[Wrong.SHORTER]]
        start, end = self._asked_part(len(content), etag, wrong)
        whole = start is None
        first = 0 if start is None else start
        if first >= len(content) > 0:
            self.reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
            return
        body = content[first:end]
        claimed = len(body) + wrong.get(Wrong.LONGER, 0)
        self.send_response(200 if whole else 206)
        for name, value in {**headers, "ETag": f'"{etag}"', "Content-Length": str(claimed)}.items():
            self.send_header(name, value)
        if not whole:
            self.send_header("Content-Range", f"bytes {first}-{first + claimed - 1}/{len(content)}")
        self.end_headers()
        if self.command != "HEAD":
            self._send(body, wrong)
        if claimed != len(body):
            self.close_connection = True

    def _asked_part(self, size: int, etag: str, wrong: Mapping[Wrong, int]) -> tuple[int | None, int]:
        match = _RANGE.match(self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if not match or Wrong.NO_RANGES in wrong or (condition is not None and condition != f'"{etag}"'):
            return None, size
        start = int(match[1]) + wrong.get(Wrong.OTHER_RANGE, 0)
        return start, min(int(match[2]) + 1, size) if match[2] else size

    def _send(self, body: bytes, wrong: Mapping[Wrong, int]) -> None:
        last = min([len(body), *(wrong[kind] for kind in (Wrong.CUT, Wrong.STALL) if kind in wrong)])
        place = 0
        while place < last and not (self.hub.slow and self.hub.stopping.wait(self.hub.slow)):
            size = 1 if self.hub.slow and self.lasts and last - place < 2 * PIECE else PIECE
            piece = body[place : min(place + size, last)]
            self.wfile.write(piece)
            self.wfile.flush()
            place += len(piece)
        if Wrong.STALL in wrong and last < len(body):
            self.hub.stopping.wait(600)
        if last < len(body):
            self.close_connection = True


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
