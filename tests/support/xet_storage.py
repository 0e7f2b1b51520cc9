"""Xet's storage on this machine: where the pieces of a file are, and the pieces, as hf_xet requests them.

A file is cut into xorbs here: 24 chunks of 64 KiB, each after a header of eight bytes, none of them compressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from support.hub_server import XET_TOKEN, Hub
from support.hub_serving import Handler, serving, sha256_of, xet_name_of

_CHUNK = 64 * 1024
_CHUNKS = 24
_HEADER = 8
_RANGE = re.compile(r"bytes=(\d+)-(\d+)")


@dataclass
class Storage(Hub):
    """The storage of a hub's repositories. Its faults are independent of the hub's."""

    version: int = 2
    """The version of the API for reconstructions."""


@dataclass(frozen=True)
class Term:
    """Successive chunks of one xorb: their numbers, their place in it, and their length in the file."""

    xorb: str
    chunks: dict[str, int]
    place: dict[str, int]
    length: int


@contextmanager
def running_storage(hub: Hub) -> Iterator[Storage]:
    """The storage of a hub until the end of the block. The hub refers its clients to it."""
    storage = Storage(hub.repositories)
    with serving(storage, StorageHandler) as storage.url:
        hub.storage = storage.url
        yield storage


class StorageHandler(Handler):
    """Answers where the bytes of a file are, and sends ranges of xorbs."""

    name = "storage"
    lasts = False

    def route(self) -> None:
        """Answers one request."""
        path = urlsplit(self.path).path
        version = self.hub.version if isinstance(self.hub, Storage) else 0
        if match := re.fullmatch(rf"/v{version}/reconstructions/(\w+)", path):
            if self.headers.get("Authorization") != f"Bearer {XET_TOKEN}":
                self.reply(401, b"", {})
            elif not self.misbehaved(self.hub.faults.take(api=True)):
                self._where(match[1], version)
        elif match := re.fullmatch(r"/xorbs/(\w+)", path):
            self.file(
                next(found[match[1]] for one in self._contents() if match[1] in (found := xorbs(one))), "xorb", {}
            )
        else:
            self.reply(404, b"", {})

    def _where(self, name: str, version: int) -> None:
        content = next(one for one in self._contents() if xet_name_of(one) == name)
        asked = _RANGE.match(self.headers.get("Range", ""))
        start, last = (int(asked[1]), min(int(asked[2]), len(content) - 1)) if asked else (0, len(content) - 1)
        terms = list(terms_of(content, start, last))
        answers = [{"hash": term.xorb, "unpacked_length": term.length, "range": term.chunks} for term in terms]
        there: dict[str, list[object]] = {term.xorb: [] for term in terms}
        for term in terms:
            url = f"{self.hub.url}/xorbs/{term.xorb}"
            if version == 1:
                there[term.xorb].append({"range": term.chunks, "url": url, "url_range": term.place})
            else:
                there[term.xorb].append({"url": url, "ranges": [{"chunks": term.chunks, "bytes": term.place}]})
        key = "fetch_info" if version == 1 else "xorbs"
        self.json({"offset_into_first_range": start % _CHUNK, "terms": answers, key: there})

    def _contents(self) -> Iterator[bytes]:
        return (content for one in self.hub.repositories.values() for content in one.files.values())


def terms_of(content: bytes, start: int, last: int) -> Iterator[Term]:
    """The chunks that contain the bytes from `start` to `last`, both included."""
    begin, end = start // _CHUNK, last // _CHUNK + 1
    for number, (name, xorb) in enumerate(xorbs(content).items()):
        first, after = max(begin - number * _CHUNKS, 0), min(end - number * _CHUNKS, _CHUNKS)
        if first < after:
            place = {"start": first * (_HEADER + _CHUNK), "end": min(after * (_HEADER + _CHUNK), len(xorb)) - 1}
            length = place["end"] + 1 - place["start"] - (after - first) * _HEADER
            yield Term(name, {"start": first, "end": after}, place, length)


@lru_cache
def xorbs(content: bytes) -> dict[str, bytes]:
    """The stored chunks of a file by xorb. A chunk is: version 0, length, compression 0, length, bytes."""
    chunks = [content[start : start + _CHUNK] for start in range(0, len(content), _CHUNK)]
    stored = [(len(chunk) << 8 | len(chunk) << 40).to_bytes(_HEADER, "little") + chunk for chunk in chunks]
    all_xorbs = [b"".join(stored[start : start + _CHUNKS]) for start in range(0, len(stored), _CHUNKS)]
    return {sha256_of(xorb): xorb for xorb in all_xorbs}


def range_starts(storage: Hub, since: int = 0) -> list[int]:
    """The first bytes of a file's ranges that were requested from the storage, without the first `since` requests."""
    ranges = [header(asked.headers, "range") for asked in storage.asked[since:] if "reconstructions" in asked.path]
    return [int(match[1]) for one in ranges if (match := _RANGE.match(one))]


def header(headers: Mapping[str, str], name: str) -> str:
    """A header of a request, ignoring the case of its name; empty if there is none."""
    return {key.lower(): value for key, value in headers.items()}.get(name, "")
