"""What the bytes of a file are called in the places that keep them."""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1, sha256


@lru_cache
def sha256_of(content: bytes) -> str:
    """What LFS calls these bytes."""
    return sha256(content).hexdigest()


@lru_cache
def xet_name_of(content: bytes) -> str:
    """What these bytes are called in Xet's storage; nobody but the storage knows how names are made."""
    return sha256(b"xet" + content).hexdigest()


@lru_cache
def git_oid(content: bytes) -> str:
    """What git calls these bytes."""
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
