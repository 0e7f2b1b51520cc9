"""Whether bytes are the ones that the hub lists."""

from __future__ import annotations

import hashlib

_SHA256_LETTERS = 64


class Checksum:
    """The hash of a file that comes in pieces: sha256, or git's name for a file that git itself keeps."""

    def __init__(self, digest: str, size: int) -> None:
        self._expected = digest
        if len(digest) == _SHA256_LETTERS:
            self._hash = hashlib.sha256()
        else:
            self._hash = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)

    def update(self, piece: bytes) -> None:
        """Adds the next bytes."""
        self._hash.update(piece)

    def matches(self) -> bool:
        """Whether everything so far is the file."""
        return self._hash.hexdigest() == self._expected
