"""Every test here has an empty Hugging Face home and a hub of its own."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.models.environment import HubEnvironment, hub_environment
from support.hub_samples import REPOSITORY, large_repository, tiny_repository
from support.hub_server import Hub, Repository, running_hub
from support.xet_storage import Storage, running_storage


@pytest.fixture(autouse=True)
def hugging_face_home(isolated_machine: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, without a token or variables of the machine."""
    for name in list(os.environ):
        if name.startswith(("HF_", "HUGGING", "TRANSFORMERS_")):
            monkeypatch.delenv(name)
    home = isolated_machine / "hugging face"
    monkeypatch.setenv("HF_HOME", str(home))
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(home / "token"))
    return home


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub without repositories; HF_ENDPOINT is its address."""
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def storage(hub: Hub) -> Iterator[Storage]:
    """The Xet storage of the hub, which refers its clients to it."""
    with running_storage(hub) as running:
        yield running


@pytest.fixture
def tiny(hub: Hub) -> Repository:
    """The repository `REPOSITORY` with one tiny model."""
    hub.repositories[REPOSITORY] = tiny_repository()
    return hub.repositories[REPOSITORY]


@pytest.fixture
def environment(hugging_face_home: Path) -> HubEnvironment:
    """The Hugging Face environment of the test."""
    return hub_environment()


@pytest.fixture(autouse=True)
def empty_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is empty."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))


@pytest.fixture
def gave_way() -> list[None]:
    """Replaces a fixture that only tests of the app need."""
    return []


@pytest.fixture
def large(hub: Hub, storage: Hub) -> Repository:
    """The repository `REPOSITORY` with one model of some megabytes, which is in Xet's storage."""
    hub.repositories[REPOSITORY] = large_repository()
    return hub.repositories[REPOSITORY]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that the test starts."""
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    return started
