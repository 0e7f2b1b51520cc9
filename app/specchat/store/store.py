"""The store: everything that is kept of conversations, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from specchat.store.search import SessionSearch
from specchat.store.turns import Turns


class Store(SessionSearch, Turns):
    """Sessions, messages, traces and figures in one file, seen through one connection.

    Each method does all of its work or none of it; `together` makes one unit of several. Methods raise StoreUnavailable
    if the file cannot be used at present, and StoreError if a request cannot be fulfilled.
    """

    @classmethod
    def open(cls, path: Path, *, busy_seconds: float = 5.0, read_only: bool = False) -> Self:
        """Opens or creates the store, and marks answers that a crash cut off.

        Waits up to `busy_seconds` for a lock that another program holds, now and later. With `read_only` nothing is
        created or changed, and the folder need not be writable.

        Raises StoreUnavailable if the file belongs to another program or a newer specchat, is damaged, or is out of
        reach. The file is never removed or replaced.
        """
        store = super().open(path, busy_seconds=busy_seconds, read_only=read_only)
        if not read_only:
            try:
                store.recover()
            except BaseException:
                store.close()
                raise
        return store
