"""The stored conversations: everything that is kept in the one file."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from specchat.store.messages import Messages
from specchat.store.search import Search
from specchat.store.totals import TotalsKept
from specchat.store.traces import Traces


class Store(Messages, Search, Traces, TotalsKept):
    """Sessions, messages, traces and figures in one file, seen through one connection.

    Each method does all of its work or none; `together` makes one of several. Methods raise StoreUnavailable where the
    file cannot be used at present, StoreError where what they were asked for cannot be.
    """

    @classmethod
    def open(cls, path: Path, *, busy_seconds: float = 5.0, read_only: bool = False) -> Self:
        """The store in this file, made where there is none, with the answers marked that a crash cut off.

        A lock of another program is waited for up to `busy_seconds`, here and later. Opened read-only, nothing is made
        or changed, and the file may lie in a folder that cannot be written.

        Raises StoreUnavailable, in one line, for a file that is not specchat's, newer, damaged or out of reach. It is
        never removed or replaced.
        """
        store = super().open(path, busy_seconds=busy_seconds, read_only=read_only)
        if not read_only:
            try:
                store.recover()
            except BaseException:
                store.close()
                raise
        return store
