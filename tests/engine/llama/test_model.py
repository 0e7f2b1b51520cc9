"""A file's metadata, and what is refused before native code sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from specchat_engine import ModelFileError
from specchat_engine.gguf.files import read_model
from specchat_engine.llama.model import LlamaModel
from support.engine_files import EngineFiles
from support.tiny_models import TEMPLATE


def test_a_model_tells_what_its_file_says(files: EngineFiles) -> None:
    model = LlamaModel(files.target)
    assert model.metadata("general.name") == "target"
    assert model.metadata("no.such.key") is None
    assert model.chat_template == TEMPLATE
    assert (model.n_ctx_train, model.window) == (1024, 0)
    assert model.size_bytes < files.target.stat().st_size
    assert model.description.startswith("llama")
    model.close()
    model.close()


def test_a_healthy_file_passes_the_first_look(files: EngineFiles) -> None:
    read_model(files.target)


@pytest.mark.parametrize("length", range(24))
def test_a_header_that_is_cut_anywhere_is_refused(files: EngineFiles, tmp_path: Path, length: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(files.target.read_bytes()[:length])
    with pytest.raises(ModelFileError, match="is truncated" if length >= 4 else "is not a GGUF file"):
        read_model(path)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read_model(path)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_model(Path("x" * 5000))
