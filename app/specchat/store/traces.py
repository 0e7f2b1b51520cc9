"""Traces: every round of an answer, as the lines of JSON that a trace file holds."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from specchat.errors import StoreError
from specchat.store.connection import Database


class Traces(Database):
    """The part of the store that knows how answers came about."""

    def keep_trace(self, message: int, lines: Sequence[str]) -> None:
        """Keeps the lines of an answer's trace, compressed, in the place of those kept before.

        Raises StoreError where there is no such message.
        """
        text = "\n".join(line.rstrip("\n") for line in lines)
        packed = zlib.compress(text.encode(errors="backslashreplace"))
        with self.together():
            self._run("INSERT OR REPLACE INTO traces (message, lines) VALUES (?, ?)", (message, packed))

    def trace(self, message: int) -> list[str] | None:
        """The lines of an answer's trace; None where none was kept. Raises StoreError for one that is damaged."""
        row = self._first("SELECT lines FROM traces WHERE message = ?", (message,))
        if row is None:
            return None
        try:
            return zlib.decompress(row[0]).decode().split("\n")
        except (zlib.error, UnicodeDecodeError) as error:
            raise StoreError(
                f"the trace of message {message} in {self.path} is damaged: {error}; the text is not"
            ) from None
