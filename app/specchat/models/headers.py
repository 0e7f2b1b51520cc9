"""Reading a model's header, on this machine or on the hub. Of a model on the hub, only the header is downloaded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from specchat.errors import HubError
from specchat.models.control import Control, RetryPolicy
from specchat.models.hub import Hub, split_reference
from specchat.models.model_files import HubFile
from specchat.models.names import UnknownModelError, find_path
from specchat.models.transport import TemporaryError, request, with_retries
from specchat_engine.gguf import GgufHeader, read_header, read_model
from specchat_engine.gguf.cursor import MAX_HEADER_BYTES

_FIRST_RANGE = 64 * 1024
_GROWTH = 4
_RANGE_START = re.compile(r"bytes (\d+)-")


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """A model and its header. `place` is a path, or the repository and file on the hub; `size` is in bytes."""

    name: str
    place: str
    size: int
    is_here: bool
    header: GgufHeader


def model_info(name: str, hub: Hub | None = None) -> ModelHeader:
    """The model with this name on this machine, or else the one that USER/REPO[:QUANT] means on the hub.

    Raises LibraryError, HubError, ModelFileError, HeaderError, Stopped.
    """
    try:
        path = find_path(name)
    except UnknownModelError:
        if split_reference(name)[0].count("/") != 1:
            raise
        hub = hub or Hub()
        model = hub.model(name)
        header = remote_header(model.files, hub.retry, hub.control)
        return ModelHeader(name, f"{model.files[0].repository}/{model.path}", model.size, False, header)
    header = read_model(path)
    return ModelHeader(name, str(path), header.file_size or 0, True, header)


def remote_header(
    files: Sequence[HubFile], retry: RetryPolicy | None = None, control: Control | None = None
) -> GgufHeader:
    """The header of a model on the hub, with the tensors of all its files. Raises HeaderError, HubError, Stopped."""
    headers = [
        read_header(RemoteSource(file, retry or RetryPolicy(), control or Control()), f"{file.repository}/{file.path}")
        for file in files
    ]
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    return replace(headers[0], tensors=tensors, file_size=sum(file.size for file in files))


class RemoteSource:
    """The first bytes of a file on the hub, requested in ranges that grow fourfold, up to the limit for headers."""

    def __init__(self, file: HubFile, retry: RetryPolicy, control: Control) -> None:
        self.size: int | None = file.size
        self._file, self._retry, self._control = file, retry, control
        self._data = bytearray()
        self._etag = ""

    def read_at(self, offset: int, size: int) -> bytes:
        """These bytes, or fewer at the end of the file. Raises HubError and Stopped."""
        end = min(offset + size, self._file.size)
        if end > len(self._data):
            ahead = max(end, _GROWTH * len(self._data), _FIRST_RANGE)
            limit = min(ahead, self._file.size, MAX_HEADER_BYTES)
            with_retries(lambda: self._read_up_to(limit), self._retry, self._control)
        return bytes(self._data[offset:end])

    def _read_up_to(self, end: int) -> None:
        """Raises TemporaryError if fewer bytes arrive; the others are kept."""
        headers = {"Range": f"bytes={len(self._data)}-{end - 1}"}
        with request(self._file.url, headers=headers, timeout=self._retry.timeout) as response:
            match = _RANGE_START.match(response.headers.get("Content-Range", ""))
            start = int(match[1]) if response.status_code == 206 and match else 0
            etag = response.headers.get("ETag", "")
            if self._data and etag != self._etag:
                raise HubError(f"{self._file.path} changed while its header was read: run this again")
            self._etag = etag
            if start > len(self._data):
                raise TemporaryError(f"the server sent another part of {self._file.path} than was requested")
            del self._data[start:]
            for piece in response.iter_raw():
                self._control.check()
                self._data += piece[: end - len(self._data)]
                if len(self._data) >= end:
                    return
        raise TemporaryError(f"the server ended {self._file.path} after {len(self._data)} bytes")
