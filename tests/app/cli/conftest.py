from __future__ import annotations

import io
from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True)
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts bytes into standard input, which is an empty pipe otherwise."""

    def put(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    put(b"")
    return put
