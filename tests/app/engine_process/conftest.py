"""Clients with the real engine process and a pair loaded in it, and questions to them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio

from specchat.engine_process.local_client import LocalClient
from specchat.engine_process.protocol import ChatMessage, Ended, Event, Generate, Loaded
from specchat.engine_process.shared_client import SharedClient
from specchat_engine import LoadOptions, PromptProgress, Settings
from specchat_engine.sampling.params import SamplingParams
from support.serving import client_of
from support.tiny_models import TinyModels

OPTIONS = LoadOptions(threads=1, n_ctx=4096)
HELLO = (ChatMessage("user", "hello"),)
# Greedy, these models never end an answer, and the whole of it is more than a pipe holds: the process has to wait.
ENDLESS = Settings(k=2, sampling=SamplingParams(temperature=0.0))
SHORT = Settings(k=2, max_tokens=8)

T = TypeVar("T")


def asked(client: LocalClient, request: Generate) -> Iterator[Event]:
    """The events of an answer, without the progress of reading the prompt: only slow machines report it."""
    return (event for event in client.generate(request) if not isinstance(event, PromptProgress))


def answer(client: LocalClient, settings: Settings = SHORT, seed: int = 7) -> Iterator[Event]:
    return asked(client, Generate(HELLO, seed=seed, settings=settings))


def process_of(client: LocalClient) -> subprocess.Popen[bytes]:
    assert client._process is not None
    return client._process.child


def last_of(kind: type[T], events: Iterable[Event]) -> T:
    """The last event, which has to be of this kind."""
    *_, last = events
    assert isinstance(last, kind)
    return last


def only(kind: type[T], events: Iterable[Event]) -> T:
    """The only event, which has to be of this kind."""
    (event,) = events
    assert isinstance(event, kind)
    return event


def text_of(events: Iterable[Event]) -> str:
    return last_of(Ended, events).text


def records() -> list[dict[str, Any]]:
    """What was kept of what engines learned."""
    return [json.loads(path.read_text()) for path in Path.home().rglob("specchat/pairs/*.json")]


@pytest.fixture(scope="session")
def lasting(tmp_path_factory: pytest.TempPathFactory, tiny_models: TinyModels) -> Iterator[LocalClient]:
    """One process for all tests that do not end it."""
    home = tmp_path_factory.mktemp("home")
    client = LocalClient(home / "worker.log")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        load(client, tiny_models)
    yield client
    client.close()
    assert not client.alive


def load(client: LocalClient, models: TinyModels, **changes: Any) -> Loaded:
    """Loads the pair, and forgets what was said before."""
    return last_of(Loaded, client.load(models.target, models.draft, replace(OPTIONS, **changes)))


@pytest.fixture
def client(lasting: LocalClient) -> LocalClient:
    """A client whose process has loaded something before."""
    return lasting


@pytest.fixture
def loaded(client: LocalClient, tiny_models: TinyModels) -> LocalClient:
    """That client, with the pair in a new session."""
    load(client, tiny_models)
    return client


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[LocalClient]:
    """A client without a process yet."""
    client = LocalClient(tmp_path / "logs" / "worker.log")
    yield client
    client.close()
    assert not client.alive


@pytest.fixture
def own(fresh: LocalClient, tiny_models: TinyModels) -> LocalClient:
    """A client with a process of its own that has loaded the pair, for tests that end it."""
    load(fresh, tiny_models)
    return fresh


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared(tmp_path_factory: pytest.TempPathFactory, tiny_models: TinyModels) -> AsyncIterator[SharedClient]:
    """One process for all tests of several answers at a time, so that each begins with what the others left."""
    home = tmp_path_factory.mktemp("home")
    client = client_of(home, tiny_models)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        await client.start()
    yield client
    assert client.deaths == 0
    await client.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers run in a thread of the tests' process, which one that takes long to end must not end."""
    monkeypatch.setattr("specchat.engine_process.server._PATIENCE_S", 600.0)
