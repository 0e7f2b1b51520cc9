"""Tiny model files, written once."""

from __future__ import annotations

import pytest

from support.tiny_models import EngineFiles, write_engine_files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> EngineFiles:
    """Files to load, and not to change."""
    return write_engine_files(tmp_path_factory.mktemp("models"))
