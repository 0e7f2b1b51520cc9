"""Reads the elements of a large JSON array one by one, so that the file need not fit into memory."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator
from typing import Any, TextIO
from zipfile import BadZipFile

from specchat.errors import UnreadableExport

LONGEST = 64 * 2**20
"""The most characters of one element."""

_CHUNK = 2**18
_IN_NUMBERS = "0123456789.eE+-"
_SPACE = re.compile(r"[ \t\r\n]*")


def elements(stream: TextIO, longest: int = LONGEST) -> Iterator[Any]:
    """The elements of an array, or the single value in the stream.

    Raises UnreadableExport if the stream is not JSON, cannot be decoded, or has an element that is too long.
    """
    source = _Source(stream, longest)
    if source.next_character() != "[":
        yield source.value()
    else:
        source.skip()
        more = source.next_character() != "]"
        while more:
            yield source.value()
            if (separator := source.next_character()) not in (",", "]"):
                raise source.wrong("a comma or the end of the array is missing")
            more = separator == ","
            if more:
                source.skip()
        source.skip()
    if source.next_character():
        raise source.wrong("there is more after the end")


class _Source:
    """The text of a stream from a position on; what was read before it is forgotten."""

    def __init__(self, stream: TextIO, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._forgotten = 0

    def next_character(self) -> str:
        """Returns the next character other than white space, without passing it; empty at the end."""
        while True:
            self._at = _end_of_space(self._text, self._at)
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        """Passes the next character."""
        self._at += 1

    def value(self) -> Any:
        """The next value."""
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._read_on():
                    raise self.wrong(error.msg, error.pos) from None
            except (ValueError, RecursionError):  # an endless number, or lists in lists in lists
                raise self.wrong("a value is too large") from None
            else:
                goes_on = end == len(self._text) or (isinstance(value, int | float) and self._text[end] in _IN_NUMBERS)
                if not goes_on or not self._read_on():  # such as `1.`, which is read as 1
                    self._at = end
                    return value

    def wrong(self, why: str, at: int | None = None) -> UnreadableExport:
        """The error for what is wrong at a position in the text."""
        position = self._forgotten + (self._at if at is None else at)
        return UnreadableExport(f"it is not valid JSON at character {position + 1:,}: {why[:1].lower()}{why[1:]}")

    def _read_on(self) -> bool:
        """Reads as much again as waits, so that long values are not decoded too often. Returns False at the end."""
        rest = self._text[self._at :]
        if len(rest) > self._longest:
            raise UnreadableExport(f"it has an element of more than {self._longest:,} characters")
        more = self._read(max(_CHUNK, len(rest)))
        if not more:
            return False
        self._forgotten += self._at
        self._text, self._at = rest + more, 0
        return True

    def _read(self, size: int) -> str:
        try:
            return self._stream.read(size)
        except UnicodeDecodeError as error:
            raise UnreadableExport(f"it is not UTF-8 text: {error.reason}") from None
        except (BadZipFile, zlib.error, EOFError) as error:
            raise UnreadableExport(f"its archive is damaged: {error}") from None


def _end_of_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()
