"""The engine's process from inside: what it does between two answers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from app.engine_process.conftest import records
from specchat.engine_process.protocol import (
    ChatMessage,
    Command,
    Generate,
    Keep,
    Kept,
    Load,
    Loaded,
    Prepare,
    Quit,
    Threads,
    decode_event,
)
from specchat.engine_process.server import Server
from specchat.pipes import encode
from specchat_engine import Engine, LoadOptions, Session, Settings
from specchat_engine.memory.placement import DeviceMemory, Machine
from support.processes import wait_until
from support.tiny_models import TinyModels, write_tiny_model

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

        numbers = count(1)

        def send(command: Command) -> None:
            pipe.write(encode(command, next(numbers)))

        send(Load(str(tiny_models.target), str(tiny_models.draft), LoadOptions(threads=1, n_ctx=512)))
        yield send
        send(Quit())
        server.join(20)
        assert not server.is_alive()


def test_what_is_being_written_is_read_ahead(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(Session, "prepare", lambda _, asked, __: read.append(asked.messages[-1].content))
    tell(Prepare(WRITTEN, seed=1, settings=SETTINGS))
    wait_until(lambda: read == ["what is being writ"])


def test_what_an_answer_taught_is_kept_for_the_next_start(tell: Tell) -> None:
    tell(Generate(WRITTEN, seed=1, settings=SETTINGS))
    wait_until(lambda: any(record["acceptance"] for record in records()))


def test_what_was_measured_is_kept_although_nothing_was_asked_and_other_threads_are_measured_too(tell: Tell) -> None:
    wait_until(lambda: [[*record["target"]] for record in records()] == [["1"]])
    tell(Threads(2, 1))
    wait_until(lambda: [[*record["target"]] for record in records()] == [["1", "2"]])
    assert [[*record["drafts"]["model"]] for record in records()] == [["1"]]


def test_passes_that_were_disturbed_are_measured_again_after_an_answer(
    tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until(lambda: bool(records()))
    measured: list[int] = []
    monkeypatch.setattr(Engine, "measuring", lambda _: iter(measured.append(1) or ()))
    tell(Generate(WRITTEN, seed=1, settings=SETTINGS))
    wait_until(lambda: measured == [1])


def test_why_memory_shortened_a_context_goes_out_with_the_loaded_pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "long.gguf", n_ctx=2**24)
    small = Machine((DeviceMemory("CPU", "cpu", 2**28, 2**28),))
    monkeypatch.setattr("specchat_engine.engine.this_machine", lambda: small)
    events = BytesIO()
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as commands, os.fdopen(writing, "wb", buffering=0) as pipe:
        server = threading.Thread(target=Server(commands, events).run)
        server.start()
        pipe.write(encode(Load(str(path), None, LoadOptions(threads=1)), 1))
        wait_until(lambda: b'"loaded"' in events.getvalue().lower())
        pipe.write(encode(Quit()))
        server.join(20)
    [loaded] = [event for line in events.getvalue().splitlines() if isinstance(event := decode_event(line)[1], Loaded)]
    assert loaded.shortened_because.startswith("The context has ")


class Pipe(BytesIO):
    """Takes a few bytes at a time, or none if it is broken."""

    broken = False

    def write(self, data: Any) -> int:
        if self.broken:
            raise BrokenPipeError
        return super().write(bytes(data[:7]))


def test_a_pipe_that_takes_a_few_bytes_at_a_time_gets_all_of_them() -> None:
    events = Pipe()
    command = encode(Keep("a folder", 10), 1)
    assert Server(BytesIO(command), events).run() == 0
    kept = Kept(False, "no model is loaded: nothing was read that could be kept")
    assert decode_event(events.getvalue()) == (1, kept)


def test_a_server_ends_if_nobody_reads_its_events() -> None:
    events = Pipe()
    events.broken = True
    assert Server(BytesIO(encode(Keep("a folder", 10))), events).run() == 0
