"""A target to train for, and trainings that need little text."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat_engine.training import runs
from support.tiny_models import write_tiny_model


@pytest.fixture(scope="session")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("training") / "target.gguf", layers=3)


@pytest.fixture(autouse=True)
def little_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_FEWEST_TOKENS", 1000)
