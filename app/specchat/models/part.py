"""The file that a download is written to, and the checksum of what is in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import IO

from specchat.errors import FetchError
from specchat.models.control import Control
from specchat.models.model_files import HubFile

_PIECE = 256 * 1024


class PartialFile:
    """The first bytes of a file. `have` is their number; `on_progress` is called with it after each change.

    The checksum is SHA-256, or git's SHA-1 for a file that is stored in git itself.
    """

    def __init__(self, file: HubFile, out: IO[bytes], on_progress: Callable[[int], None]) -> None:
        self.file = file
        self._out, self._on_progress = out, on_progress
        self._start()

    @property
    def is_complete(self) -> bool:
        """True if all bytes that the hub lists are there."""
        return self.have == self.file.size

    @property
    def matches(self) -> bool:
        """True if the checksum is the one that the hub lists."""
        return self._hash.hexdigest() == self.file.digest

    def read_back(self, control: Control) -> None:
        """Hashes the bytes that an earlier download left. Raises OSError, Stopped."""
        self._out.truncate(min(self.file.size, self._out.seek(0, os.SEEK_END)))
        self._out.seek(0)
        while piece := self._out.read(_PIECE):
            control.check()
            self._hash.update(piece)
            self.have += len(piece)
        self._on_progress(self.have)

    def append(self, piece: bytes) -> None:
        """Writes the next bytes. Raises OSError, and FetchError if they are more than the hub lists."""
        if self.have + len(piece) > self.file.size:
            raise wrong_size(self.file, "more bytes")
        self._out.write(piece)
        self._hash.update(piece)
        self.have += len(piece)
        self._on_progress(self.have)

    def clear(self) -> None:
        """Removes all bytes. Raises OSError."""
        self._out.seek(0)
        self._out.truncate()
        self._start()
        self._on_progress(0)

    def flush(self) -> None:
        """Hands the bytes to the system, so that they survive the end of this process. Raises OSError."""
        self._out.flush()

    def sync(self) -> None:
        """Writes the bytes to the disk, so that they survive a power cut. Raises OSError."""
        self._out.flush()
        os.fsync(self._out.fileno())

    def _start(self) -> None:
        self.have = 0
        sha1 = hashlib.sha1(b"blob %d\0" % self.file.size, usedforsecurity=False)
        self._hash = hashlib.sha256() if self.file.is_large else sha1


def wrong_size(file: HubFile, sent: str) -> FetchError:
    """The error for a server that has another size than the hub lists."""
    return FetchError(
        f"the server sends {sent} for {file.path}, the hub lists {file.size}: a proxy or a log-in page "
        "may be in between; check the connection and run this again"
    )
