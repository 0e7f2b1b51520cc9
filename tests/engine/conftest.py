"""Tiny model files, written once, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.vocabulary import Vocabulary
from support.controllers import Clock
from support.tiny_models import EngineFiles, write_engine_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> EngineFiles:
    """Files to load, and not to change."""
    return write_engine_files(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def model(files: EngineFiles) -> Iterator[LlamaModel]:
    """The tiny target."""
    model = LlamaModel(files.target)
    yield model
    model.close()


@pytest.fixture(scope="session")
def vocabulary(model: LlamaModel) -> Vocabulary:
    """That of the tiny target."""
    return model.vocabulary


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which rounds are timed."""
    clock = Clock()
    for module in ("session", "decoding.recorder", "policy.planner", "policy.calibration"):
        monkeypatch.setattr(f"specchat_engine.{module}.perf_counter_ns", clock)
    return clock
