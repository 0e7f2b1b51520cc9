"""The header of a model on the hub, read without its weights."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from specchat.errors import HubError
from specchat.models.hub_files import HubFile
from specchat.models.patience import Control, Patience
from specchat.models.retry import persistently
from specchat.models.transport import TryAgain, answer
from specchat_engine.gguf import Header, read_header
from specchat_engine.gguf.limits import MAX_HEADER_BYTES

_FIRST = 64 * 1024
_GROWTH = 4
_START = re.compile(r"bytes (\d+)-")


def remote_header(files: Sequence[HubFile], patience: Patience | None = None, control: Control | None = None) -> Header:
    """The header of a model with the tensors of all its files. Raises HeaderError, HubError, Stopped."""
    headers = [
        read_header(RemoteSource(file, patience or Patience(), control or Control()), f"{file.repository}/{file.path}")
        for file in files
    ]
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    return replace(headers[0], tensors=tensors, file_size=sum(file.size for file in files))


class RemoteSource:
    """The first bytes of a file of the hub, asked for in ranges that grow fourfold, never beyond a header's limit."""

    def __init__(self, file: HubFile, patience: Patience, control: Control) -> None:
        self.size: int | None = file.size
        self._file, self._patience, self._control = file, patience, control
        self._data = bytearray()
        self._etag = ""

    def read_at(self, offset: int, size: int) -> bytes:
        """Raises HubError and Stopped."""
        end = min(offset + size, self._file.size)
        if end > len(self._data):
            ahead = max(end, _GROWTH * len(self._data), _FIRST)
            persistently(
                lambda: self._grow(min(ahead, self._file.size, MAX_HEADER_BYTES)), self._patience, self._control
            )
        return bytes(self._data[offset:end])

    def _grow(self, end: int) -> None:
        """Fills the data up to `end`. Raises TryAgain where less comes; what came is kept."""
        headers = {"Range": f"bytes={len(self._data)}-{end - 1}"}
        with answer(self._file.url, headers=headers, silence=self._patience.silence) as response:
            match = _START.match(response.headers.get("Content-Range", ""))
            start = int(match[1]) if response.status_code == 206 and match else 0
            etag = response.headers.get("ETag", "")
            if self._data and etag != self._etag:
                raise HubError(f"{self._file.path} was changed while its header was read: run this again")
            self._etag = etag
            if start > len(self._data):
                raise TryAgain(f"the server sent another part of {self._file.path} than it was asked for")
            del self._data[start:]
            for piece in response.iter_raw():
                self._control.check()
                self._data += piece[: end - len(self._data)]
                if len(self._data) >= end:
                    return
        raise TryAgain(f"the server ended {self._file.path} after {len(self._data)} bytes")
