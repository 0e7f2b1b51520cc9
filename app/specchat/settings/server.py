"""How `specchat serve` listens, whom it lets in, and how much it takes on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from specchat_engine.allowed import OneOf, Range, check, setting
from specchat_engine.load_options import PARALLEL_LIMIT

MEBIBYTE: Final = 2**20

LARGEST_TEXTS: Final = 8.0
LARGEST_WITH_IMAGES: Final = 32.0
"""MiB of the largest request by default. Far more text than this fits no context, and takes long to refuse."""


@dataclass(frozen=True, slots=True)
class Serving:
    """`parallel` requests are answered at a time and `queue` more may wait; port 0 is any free one.

    A server of this machine alone also answers to the names `allow_host`, by which a proxy calls it. `timeout` is in
    seconds after the prompt was read, and `max_body` in MiB, 0 for the usual. `alias` is what the API calls the model,
    empty for the file's name. With `watch` on, whoever may use the server may see what all others ask. Raises
    SettingError for a value that is not allowed.
    """

    host: str = "127.0.0.1"
    port: int = setting(8080, Range(0, 65535, "0 is any free port", whole=True))
    parallel: int = setting(4, Range(1, PARALLEL_LIMIT, whole=True))
    queue: int = setting(32, Range(0, 10_000, whole=True))
    timeout: float = setting(600, Range(0, 86_400, "0 is no limit"))
    max_body: float = setting(0, Range(0, 1024, "in MiB, 0 is the usual"))
    api_key: tuple[str, ...] = ()
    api_key_file: Path | None = None
    allow_host: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    alias: str = ""
    watch: str = setting("off", OneOf(("off", "on")))

    def __post_init__(self) -> None:
        check(self)

    def max_body_bytes(self, *, images: bool) -> int:
        """The size of the largest request that is read, by a server that takes images or none."""
        return int((self.max_body or (LARGEST_WITH_IMAGES if images else LARGEST_TEXTS)) * MEBIBYTE)
