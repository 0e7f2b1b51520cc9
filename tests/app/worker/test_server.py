"""The engine's process from inside: what it does between two answers."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pytest

from specchat.worker.codec import encode_command
from specchat.worker.protocol import ChatMessage, Command, Generate, Load, Prepare, Quit
from specchat.worker.server import Server
from specchat_engine import LoadOptions, Session, Settings
from support.tiny_pair import TinyModels

SETTINGS = Settings(k=2, max_tokens=4)
WRITTEN = (ChatMessage("user", "what is being writ"),)

Tell = Callable[[Command], None]


@pytest.fixture
def tell(tiny_models: TinyModels) -> Iterator[Tell]:
    """Gives commands to a server that has loaded a pair."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as commands, os.fdopen(writing, "wb", buffering=0) as pipe:
        server = threading.Thread(target=Server(commands, BytesIO()).run)
        server.start()

        def send(command: Command) -> None:
            pipe.write(encode_command(command).encode() + b"\n")

        send(Load(str(tiny_models.target), str(tiny_models.draft), LoadOptions(threads=1, n_ctx=512)))
        yield send
        send(Quit())
        server.join(20)
        assert not server.is_alive()


def until(happened: Callable[[], bool]) -> bool:
    """Waits for it, twenty seconds at most."""
    end = time.monotonic() + 20
    while not happened() and time.monotonic() < end:
        time.sleep(0.02)
    return happened()


def test_what_is_being_written_is_read_ahead(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(Session, "prepare", lambda _, messages, __: read.append(messages[-1].content))
    tell(Prepare(WRITTEN, seed=1, settings=SETTINGS))
    assert until(lambda: read == ["what is being writ"])


def test_what_an_answer_taught_is_kept_for_the_next_start(tell: Tell) -> None:
    tell(Generate(WRITTEN, turn=0, attempt=0, seed=1, settings=SETTINGS))
    assert until(lambda: any(Path.home().rglob("specchat/pairs/*.json")))
