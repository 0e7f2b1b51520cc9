"""A client with the real engine process, and a pair loaded in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat.worker.client import WorkerClient
from specchat.worker.protocol import Loaded
from specchat_engine import LoadOptions
from support.tiny_pair import TinyModels

OPTIONS = LoadOptions(threads=1, n_ctx=4096)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[WorkerClient]:
    worker = WorkerClient(tmp_path / "logs" / "worker.log")
    yield worker
    worker.close()
    assert not worker.alive


@pytest.fixture
def loaded(client: WorkerClient, tiny_models: TinyModels) -> WorkerClient:
    assert isinstance(list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))[-1], Loaded)
    return client
