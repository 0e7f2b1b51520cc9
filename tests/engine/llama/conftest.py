"""Contexts on models with all kinds of memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from support.memory_models import ARCHITECTURES, Make, write_memory_model


@pytest.fixture(scope="session")
def memory_paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("memories")
    return {name: write_memory_model(folder / f"{name}.gguf", name) for name in ARCHITECTURES}


@pytest.fixture(scope="session")
def memory_models(memory_paths: dict[str, Path]) -> Iterator[dict[str, LlamaModel]]:
    models = {name: LlamaModel(path) for name, path in memory_paths.items()}
    yield models
    for model in models.values():
        model.close()


@pytest.fixture
def make(memory_models: dict[str, LlamaModel]) -> Iterator[Make]:
    made = []

    def context(name: str, max_rows: int = 13, n_ctx: int = 512) -> LlamaContext:
        made.append(LlamaContext(NativeContext(memory_models[name], n_ctx=n_ctx, max_rows=max_rows, threads=1)))
        return made[-1]

    yield context
    for one in made:
        one.close()
