"""A file written again in another type, and what is refused before llama.cpp writes anything."""

from __future__ import annotations

from pathlib import Path

import gguf
import llama_cpp
import pytest

from specchat_engine.errors import EngineError, ModelFileError, SettingError
from specchat_engine.llama import quantise as module
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.quantise import FLOAT_TYPES, QUANTISED_TYPES, quantise
from support.tiny_models import TEMPLATE, write_tiny_model


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("source") / "source.gguf", width=256)


@pytest.mark.parametrize("kind", [*FLOAT_TYPES, *QUANTISED_TYPES])
def test_every_type_that_is_offered_can_be_written_and_loaded(tmp_path: Path, source: Path, kind: str) -> None:
    quantise(source, tmp_path / "written.gguf", kind)
    kinds = {tensor.name: tensor.tensor_type.name for tensor in gguf.GGUFReader(tmp_path / "written.gguf").tensors}
    assert kinds["blk.0.attn_q.weight"] == kind.removesuffix("_S").removesuffix("_M").removesuffix("_L")
    assert kinds["blk.0.attn_norm.weight"] == "F32"
    model = LlamaModel(tmp_path / "written.gguf")
    assert model.chat_template == TEMPLATE
    model.close()


def test_an_unknown_type_is_rejected_with_those_that_there_are(tmp_path: Path, source: Path) -> None:
    with pytest.raises(SettingError, match=r"the type Q9 cannot be written: use F32, .*Q4_K_M"):
        quantise(source, tmp_path / "written.gguf", "Q9")


def test_a_file_is_not_written_onto_itself(tmp_path: Path, source: Path) -> None:
    before = source.read_bytes()
    (tmp_path / "link.gguf").symlink_to(source)
    for written in (source, tmp_path / "link.gguf"):
        with pytest.raises(SettingError, match="onto itself"):
            quantise(source, written, "Q8_0")
    assert source.read_bytes() == before


def test_an_error_of_llama_cpp_is_reported_in_its_words(tmp_path: Path, source: Path) -> None:
    quantise(source, tmp_path / "small.gguf", "Q4_0")
    with pytest.raises(
        ModelFileError, match=r"could not be written as Q8_0: .*requantizing from type q._. is disabled"
    ):
        quantise(tmp_path / "small.gguf", tmp_path / "written.gguf", "Q8_0")
    with pytest.raises(ModelFileError, match="does not exist"):
        quantise(tmp_path / "nothing.gguf", tmp_path / "written.gguf", "Q8_0")


def test_a_struct_that_moved_is_noticed(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    params = llama_cpp.llama_model_quantize_default_params()
    params.max_buf_size = 3
    monkeypatch.setattr(module.api, "llama_model_quantize_default_params", lambda: params)
    with pytest.raises(EngineError, match="the default of max_buf_size is 3"):
        quantise(source, tmp_path / "written.gguf", "Q8_0")
