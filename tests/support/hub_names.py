"""The digests of a file's bytes in LFS, git and Xet."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1, sha256


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
