"""What the process that talks Xet is told, in one line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """The bytes of a file from `start` to `size`; `hash` is Xet's name for it.

    `token_url` and `token_headers` are where the hub gives its token for Xet's storage, and to whom.
    """

    hash: str
    start: int
    size: int
    token_url: str
    token_headers: dict[str, str]

    def line(self) -> bytes:
        """As it is sent."""
        return json.dumps(asdict(self)).encode() + b"\n"


def read_order(line: bytes) -> Order:
    """What `Order.line` made."""
    return Order(**json.loads(line))
