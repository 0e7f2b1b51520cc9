"""Scripted engines behind a real server, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import anthropic
import httpx2
import openai
import pytest

from specchat.serve.endpoints import PromptLog
from specchat.settings.server import Serving
from specchat_engine.settings import Settings
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

Served = Callable[..., str]


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def served(engine: ScriptedEngine) -> Iterator[Served]:
    """Starts a server over the scripted engine and returns its URL."""
    with ExitStack() as stack:

        def start(
            serving: Serving | None = None, log: PromptLog | None = None, settings: Settings | None = None
        ) -> str:
            return stack.enter_context(on_loopback(scripted_app(engine, serving, log, settings)))

        yield start


@pytest.fixture
def http(served: Served) -> Iterator[httpx2.Client]:
    """A plain HTTP client of a server with the usual settings."""
    with httpx2.Client(base_url=served(), timeout=600, trust_env=False) as client:
        yield client


@pytest.fixture
def client(served: Served) -> Iterator[openai.OpenAI]:
    """OpenAI's client of a server with the usual settings."""
    with openai.OpenAI(base_url=f"{served()}/v1", api_key="none", max_retries=0, timeout=600) as client:
        yield client


@pytest.fixture
def claude(served: Served) -> Iterator[anthropic.Anthropic]:
    """Anthropic's client of a server with the usual settings."""
    with anthropic.Anthropic(base_url=served(), api_key="none", max_retries=0, timeout=600) as client:
        yield client
