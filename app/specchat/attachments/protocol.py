"""What the application asks the process that reads one file, and what that answers: one line of JSON each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, get_args

from specchat import pipes
from specchat.pipes import Decoder

LARGEST_FILE: Final = 32 * 2**20
"""Bytes of a file, or of a page, that is read."""

LARGEST_PICTURE: Final = 8 * 2**20
"""Bytes of a picture as the engine gets it."""

LONGEST_SIDE: Final = 2048
"""Pixels of a picture's longer side; larger ones are scaled down. No projector of today sees more."""


@dataclass(frozen=True, slots=True)
class Convert:
    """Reads a file as what `kind` says: text of at most `longest` characters, or a picture."""

    path: str
    kind: str
    longest: int


@dataclass(frozen=True, slots=True)
class FetchPage:
    """Fetches a page within `seconds`, and reads it by its type."""

    url: str
    longest: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Grab:
    """Reads the picture in the clipboard of this desktop, which has `seconds` to give it."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Unpack:
    """Reads a picture that is given in base 64."""

    data: str


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file says."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as PNG and a small version of it as PPM, both in base 64, with its size in pixels."""

    png: str
    thumbnail: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """Why something cannot be read: the rest of a sentence that begins with its name."""

    reason: str


Request = Convert | FetchPage | Grab | Unpack
Reply = FileText | Picture | ReadFailed

encode: Callable[[Request | Reply], bytes] = pipes.encode
decode_request = Decoder[Request](get_args(Request)).decode
decode_reply = Decoder[Reply](get_args(Reply)).decode
