"""The engine's process of a chat from inside: what it does between two answers."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from app.engine_process.conftest import records
from specchat.engine_process.protocol import (
    ChatMessage,
    Generate,
    Keep,
    Kept,
    Load,
    Loaded,
    Prepare,
    Threads,
    decode_event,
)
from specchat.engine_process.server import Server
from specchat.pipes import encode
from specchat_engine import Engine, LoadOptions, Session, Settings
from specchat_engine.memory.placement import DeviceMemory, Machine
from support.engine_thread import EngineThread, serving
from support.processes import wait_until
from support.tiny_models import TinyModels, write_tiny_model

SETTINGS = Settings(k=2, max_tokens=4)
WRITTEN = (ChatMessage("user", "what is being writ"),)
ASKED = Generate(WRITTEN, seed=1, settings=SETTINGS)


@pytest.fixture
def process(tiny_models: TinyModels) -> Iterator[EngineThread]:
    with serving(tiny_models, LoadOptions(threads=1, n_ctx=512), serves=False) as process:
        yield process


def test_what_is_being_written_is_read_ahead(process: EngineThread, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(Session, "prepare", lambda _, asked, __: read.append(asked.messages[-1].content))
    process.send(1, Prepare(WRITTEN, seed=1, settings=SETTINGS))
    wait_until(lambda: read == ["what is being writ"])


def test_what_an_answer_taught_is_kept_for_the_next_start(process: EngineThread) -> None:
    process.send(1, ASKED)
    wait_until(lambda: any(record["acceptance"] for record in records()))


def test_what_was_measured_is_kept_although_nothing_was_asked_and_other_threads_are_measured_too(
    process: EngineThread,
) -> None:
    wait_until(lambda: [[*record["target"]] for record in records()] == [["1"]])
    process.send(0, Threads(2, 1))
    wait_until(lambda: [[*record["target"]] for record in records()] == [["1", "2"]])
    assert [[*record["drafts"]["model"]] for record in records()] == [["1"]]


def test_passes_that_were_disturbed_are_measured_again_after_an_answer(
    process: EngineThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_until(lambda: bool(records()))
    measured: list[int] = []
    monkeypatch.setattr(Engine, "measuring", lambda _: iter(measured.append(1) or ()))
    process.send(1, ASKED)
    wait_until(lambda: measured == [1])


def test_why_memory_shortened_a_context_goes_out_with_the_loaded_pair(
    process: EngineThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tiny_model(tmp_path / "long.gguf", n_ctx=2**24)
    small = Machine((DeviceMemory("CPU", "cpu", 2**28, 2**28),))
    monkeypatch.setattr("specchat_engine.engine.this_machine", lambda: small)
    process.send(1, Load(str(path), None, LoadOptions(threads=1)))
    assert process.next(Loaded, 1).notices[0].startswith("The context has ")


def test_nothing_is_kept_before_a_model_is_loaded() -> None:
    events = BytesIO()
    assert Server(BytesIO(encode(Keep("a folder", 10), 1)), events).run() == 0
    kept = Kept(False, "no model is loaded: nothing was read that could be kept")
    assert decode_event(events.getvalue()) == (1, kept)
