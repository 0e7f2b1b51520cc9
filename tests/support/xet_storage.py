"""Xet's storage on this machine: where the pieces of a file lie, and the pieces, as hf_xet asks for them.

A file is one xorb here: chunks of 64 KiB, each behind a header of eight bytes, none of them compressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit

from support.hub_names import xet_name_of
from support.hub_server import XET_TOKEN, Hub
from support.hub_serving import Handler, serving

_CHUNK = 64 * 1024
_HEADER = 8
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@contextmanager
def running_storage(hub: Hub) -> Iterator[Hub]:
    """The storage of what a hub has, which sends its clients there until the block ends. It has faults of its own."""
    storage = Hub(hub.repositories)
    with serving(storage, StorageHandler) as storage.url:
        hub.storage = storage.url
        yield storage


class StorageHandler(Handler):
    """Tells where the bytes of a file lie, and serves the xorbs in parts."""

    name = "storage"

    def route(self) -> None:
        """Answers one request; an unknown version of the protocol is one of the unknown addresses."""
        path = urlsplit(self.path).path
        if match := re.fullmatch(r"/v1/reconstructions/(\w+)", path):
            if self.headers.get("Authorization") != f"Bearer {XET_TOKEN}":
                self.reply(401, b"", {})
            elif not self.misbehaved(self.hub.faults.take(api=True)):
                self._where(match[1])
        elif match := re.fullmatch(r"/xorbs/(\w+)", path):
            self.file(xorb(self._content(match[1])), "xorb", {})
        else:
            self.reply(404, b"", {})

    def _where(self, name: str) -> None:
        content = self._content(name)
        asked = _RANGE.match(self.headers.get("Range", ""))
        start, last = (int(asked[1]), min(int(asked[2]), len(content) - 1)) if asked else (0, len(content) - 1)
        chunks = {"start": start // _CHUNK, "end": last // _CHUNK + 1}
        first, end = chunks["start"] * _CHUNK, min(chunks["end"] * _CHUNK, len(content))
        there = {"start": first + chunks["start"] * _HEADER, "end": end + chunks["end"] * _HEADER - 1}
        self.json(
            {
                "offset_into_first_range": start - first,
                "terms": [{"hash": name, "unpacked_length": end - first, "range": chunks}],
                "fetch_info": {name: [{"range": chunks, "url": f"{self.hub.url}/xorbs/{name}", "url_range": there}]},
            }
        )

    def _content(self, name: str) -> bytes:
        contents = (content for one in self.hub.repositories.values() for content in one.files.values())
        return next(content for content in contents if xet_name_of(content) == name)


@lru_cache
def xorb(content: bytes) -> bytes:
    """The file's chunks as they are stored: version 0, length, compression 0, length."""
    chunks = [content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK)]
    return b"".join((len(chunk) << 8 | len(chunk) << 40).to_bytes(_HEADER, "little") + chunk for chunk in chunks)
