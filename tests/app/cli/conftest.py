from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Protocol

import pytest

from specchat.cli import main


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


class Complaint(Protocol):
    """Runs a command that has to fail with this exit code, and returns the one line that it prints."""

    def __call__(self, *words: str, code: int = 2) -> str: ...


@pytest.fixture
def complaint(capfd: pytest.CaptureFixture[str]) -> Complaint:
    def run(*words: str, code: int = 2) -> str:
        assert main(words) == code
        printed = capfd.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("specchat: ")
        assert printed.err.count("\n") == 1
        return printed.err

    return run
