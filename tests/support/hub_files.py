"""How the tests' hub sends a file: complete, in ranges, or with a fault."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.message import Message
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from support.hub_faults import Fault, Wrong

if TYPE_CHECKING:
    from support.hub_server import Hub

PIECE = 16 * 1024
_OTHER = bytes(byte ^ 0x55 for byte in range(256))
_RANGE = re.compile(r"bytes=(\d+)-(\d*)$")


class FileHandler(BaseHTTPRequestHandler):
    """The part of a handler that sends bodies."""

    headers: Message[str, str]

    @property
    def hub(self) -> Hub:
        """The hub that the handler serves."""
        raise NotImplementedError

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
                self.hub.stopping.wait(30)
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
        for place in range(0, last, PIECE):
            if self.hub.slow and self.hub.stopping.wait(self.hub.slow):
                break
            self.wfile.write(body[place : min(place + PIECE, last)])
            self.wfile.flush()
        if Wrong.STALL in wrong and last < len(body):
            self.hub.stopping.wait(30)
        if last < len(body):
            self.close_connection = True
