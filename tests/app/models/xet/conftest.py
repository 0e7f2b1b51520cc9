"""A model in Xet's storage, and the processes that are started for it."""

from __future__ import annotations

import subprocess

import pytest

from support.hub_samples import REPOSITORY, large_repository
from support.hub_server import Hub, Repository


@pytest.fixture
def large(hub: Hub, storage: Hub) -> Repository:
    """The repository `REPOSITORY` of the hub, with one model of some megabytes, which lies in Xet's storage."""
    hub.repositories[REPOSITORY] = large_repository()
    return hub.repositories[REPOSITORY]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that this one starts."""
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    return started
