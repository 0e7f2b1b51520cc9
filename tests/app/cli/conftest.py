from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest


def read_terminal(descriptor: int) -> bytes:
    """What a program writes next; empty at the end."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


@pytest.fixture(autouse=True)
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts bytes into standard input, which is an empty pipe otherwise."""

    def put(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    put(b"")
    return put
