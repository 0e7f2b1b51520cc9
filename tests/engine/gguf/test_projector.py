"""Which file is the projector of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat_engine.errors import HeaderError, ModelFileError
from specchat_engine.llama.vision import projector_beside, read_projector
from support.tiny_models import write_tiny_model
from support.vision_models import write_projector


def beside(folder: Path, model: str, *others: str) -> str | None:
    for name in (model, *others):
        (folder / name).touch()
    found = projector_beside(folder / model)
    return found.name if found else None


@pytest.mark.parametrize(
    ("model", "others", "expected"),
    [
        ("gemma-3-4b-it-Q4_K_M.gguf", ["mmproj-F16.gguf"], "mmproj-F16.gguf"),
        ("gemma-3-4b-it-Q4_K_M.gguf", ["mmproj-BF16.gguf", "mmproj-F32.gguf"], "mmproj-BF16.gguf"),
        ("gemma-3-4b-it-Q4_K_M.gguf", ["mmproj-model-f16.gguf"], "mmproj-model-f16.gguf"),
        ("gemma-3-4b-it-Q4_K_M.gguf", ["mmproj_f16.gguf"], "mmproj_f16.gguf"),
        ("gemma-3-4b-it-Q4_K_M.gguf", ["mmproj-model_bf16.gguf"], "mmproj-model_bf16.gguf"),
        ("SmolVLM-256M-Instruct-Q8_0.gguf", ["mmproj-SmolVLM-256M-Instruct-Q8_0.gguf"], None),
        ("SmolVLM-256M-Instruct-f16.gguf", ["SmolVLM-256M-Instruct-mmproj-f16.gguf"], None),
        ("a-7b.gguf", ["mmproj-b-3b.gguf", "mmproj-F16.gguf"], "mmproj-F16.gguf"),
        ("a-7b.gguf", ["mmproj-a-7b-f16.gguf", "mmproj-f16.gguf"], "mmproj-a-7b-f16.gguf"),
        ("a-7b.gguf", ["mmproj-b-3b.gguf"], ""),
        ("a-7b.gguf", ["draft.gguf"], ""),
    ],
)
def test_the_projector_in_the_folder_of_a_model(
    tmp_path: Path, model: str, others: list[str], expected: str | None
) -> None:
    assert beside(tmp_path, model, *others) == (others[0] if expected is None else expected or None)


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    assert projector_beside(tmp_path / "gone" / "model.gguf") is None


def test_only_a_projector_for_images_is_one(tmp_path: Path) -> None:
    assert read_projector(write_projector(tmp_path / "a.gguf")).architecture == "clip"
    with pytest.raises(HeaderError, match="is a model and no projector"):
        read_projector(write_tiny_model(tmp_path / "b.gguf"))
    (tmp_path / "c.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelFileError):
        read_projector(tmp_path / "c.gguf")
