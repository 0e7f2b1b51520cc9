"""The bytes of a file that have arrived, from its first one on, wherever they come from."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

from specchat.errors import FetchError
from specchat.models.checksum import Checksum
from specchat.models.hub_files import HubFile
from specchat.models.patience import Control

PIECE = 256 * 1024


class Part:
    """Writes and hashes what comes next. `have` is the number of bytes that are there; `hear` gets it, too."""

    def __init__(self, file: HubFile, out: IO[bytes], hear: Callable[[int], None]) -> None:
        self.file = file
        self.have = 0
        self._out, self._hear = out, hear
        self._checksum = Checksum(file.digest, file.size)

    @property
    def is_whole(self) -> bool:
        """Whether there are as many bytes as the hub lists."""
        return self.have == self.file.size

    @property
    def matches(self) -> bool:
        """Whether they are the bytes that the hub lists."""
        return self._checksum.matches()

    def read_back(self, control: Control) -> None:
        """Hashes what is on the disk already, rather than trust a state that was kept. Raises OSError, Stopped."""
        self._out.truncate(min(self.file.size, self._out.seek(0, os.SEEK_END)))
        self._out.seek(0)
        while piece := self._out.read(PIECE):
            control.check()
            self._checksum.update(piece)
            self.have += len(piece)
        self._hear(self.have)

    def append(self, piece: bytes) -> None:
        """Takes the next bytes. Raises OSError, and FetchError where they are more than the file has."""
        if self.have + len(piece) > self.file.size:
            raise size_differs(self.file, "more bytes")
        self._out.write(piece)
        self._checksum.update(piece)
        self.have += len(piece)
        self._hear(self.have)

    def clear(self) -> None:
        """Starts anew. Raises OSError."""
        self._out.seek(0)
        self._out.truncate()
        self.have = 0
        self._checksum = Checksum(self.file.digest, self.file.size)
        self._hear(0)

    def flush(self) -> None:
        """Lets the end of this process lose nothing. Raises OSError."""
        self._out.flush()

    def sync(self) -> None:
        """Lets the end of this machine lose nothing. Raises OSError."""
        self._out.flush()
        os.fsync(self._out.fileno())


def size_differs(file: HubFile, sent: str) -> FetchError:
    """The error of a server that has another size than the hub lists."""
    return FetchError(
        f"the server sends {sent} for {file.path}, the hub lists {file.size}: a proxy or a log-in page "
        "may stand between; check the connection and run this again"
    )
