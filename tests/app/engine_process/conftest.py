"""A client with the real engine process, a pair loaded in it, and questions to it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded
from specchat_engine import LoadOptions, Settings
from specchat_engine.sampling.params import SamplingParams
from support.tiny_models import TinyModels

OPTIONS = LoadOptions(threads=1, n_ctx=4096)
HELLO = (ChatMessage("user", "hello"),)
# Greedy, these models never end an answer, and the whole of it is more than a pipe holds: the process has to wait.
ENDLESS = Settings(k=2, sampling=SamplingParams(temperature=0.0))
SHORT = Settings(k=2, max_tokens=8)


def answer(client: LocalClient, settings: Settings = SHORT, seed: int = 7) -> Iterator[Event]:
    return client.generate(Generate(HELLO, seed=seed, settings=settings))


def process_of(client: LocalClient) -> subprocess.Popen[bytes]:
    assert client._process is not None
    return client._process.child


def text_of(events: list[Event]) -> str:
    assert isinstance(events[-1], Ended)
    return events[-1].text


def records() -> list[dict[str, Any]]:
    """What was kept of what engines learned."""
    return [json.loads(path.read_text()) for path in Path.home().rglob("specchat/pairs/*.json")]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[LocalClient]:
    local = LocalClient(tmp_path / "logs" / "worker.log")
    yield local
    local.close()
    assert not local.alive


@pytest.fixture
def loaded(client: LocalClient, tiny_models: TinyModels) -> LocalClient:
    assert isinstance(list(client.load(tiny_models.target, tiny_models.draft, OPTIONS))[-1], Loaded)
    return client
