"""A file's metadata, and what is refused before native code sees it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from specchat_engine import ModelFileError
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel, without_tokenizer
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import LoadOptions
from support.grown_models import grow
from support.tiny_models import TEMPLATE, EngineFiles

MIXTURE = {
    "attention.sliding_window": 32,
    "expert_count": 4,
    "expert_used_count": 2,
    "expert_feed_forward_length": 32,
    "expert_gating_func": 2,
    "expert_shared_count": 1,
    "expert_weights_norm": True,
    "expert_weights_scale": 1.0,
    "leading_dense_block_count": 1,
}


def test_a_model_reports_what_its_file_says(files: EngineFiles) -> None:
    model = LlamaModel(files.target)
    assert model.metadata("general.name") == "target"
    assert model.metadata("no.such.key") is None
    assert model.chat_template == TEMPLATE
    assert (model.n_ctx_train, model.window) == (1024, 0)
    assert model.size_bytes < files.target.stat().st_size
    assert model.description.startswith("llama")
    model.close()
    model.close()


def test_without_its_tokenizer_a_model_computes_the_same_for_the_same_ids(files: EngineFiles) -> None:
    logits = []
    for tokenizer in (True, False):
        model = LlamaModel(files.draft, tokenizer=tokenizer)
        assert model.vocabulary.size == model.header.n_vocab
        assert (model.vocabulary.type == "none") is not tokenizer
        context = LlamaContext(NativeContext(model, n_ctx=64, max_rows=4, threads=1))
        logits.append(context.advance([65, 66, model.vocabulary.size - 1, 67], 4).copy())
        context.close()
        model.close()
    np.testing.assert_array_equal(*logits)


def test_without_its_tokenizer_an_unknown_architecture_is_still_rejected_in_words(
    files: EngineFiles, tmp_path: Path
) -> None:
    path = tmp_path / "unknown.gguf"
    name = b"general.architecture\x08\0\0\0" + (5).to_bytes(8, "little")
    data = files.draft.read_bytes()
    assert name + b"llama" in data
    path.write_bytes(data.replace(name + b"llama", name + b"lllll"))
    with pytest.raises(ModelFileError, match="unknown model architecture"):
        LlamaModel(path, tokenizer=False)


def test_a_pipe_is_rejected_without_waiting_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "pipe.gguf"
    os.mkfifo(path)
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read_model(path)


def test_a_name_that_no_file_can_have_is_rejected() -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_model(Path("x" * 5000))


def test_a_file_without_its_tokenizer_has_as_many_tokens_as_before(files: EngineFiles) -> None:
    header = read_model(files.draft)
    none, size, end = without_tokenizer(header)
    assert (none.key, none.value.val_str) == (b"tokenizer.ggml.model", b"none")
    assert (size.key, size.value.val_i64) == (b"llama.vocab_size", header.n_vocab)
    assert end.key == b""


def test_an_architecture_with_a_name_that_no_key_has_room_for_is_left_to_llama_cpp(files: EngineFiles) -> None:
    header = read_model(files.draft)
    endless = replace(header, metadata={**header.metadata, "general.architecture": "x" * 500})
    assert without_tokenizer(endless)[1].key == b"x" * 127


@pytest.mark.parametrize("architecture", ["qwen3moe", "gpt-oss", "glm4moe"])
def test_experts_that_stay_in_main_memory_change_no_logit(architecture: str, tmp_path: Path) -> None:
    path = grow(tmp_path / "mixture.gguf", architecture, MIXTURE)
    logits = []
    for options in (LoadOptions(), LoadOptions(n_cpu_moe=2), LoadOptions(n_cpu_moe=-1)):
        model = LlamaModel(path, overrides=options.overrides)
        context = LlamaContext(NativeContext(model, n_ctx=64, max_rows=4, threads=1))
        logits.append(context.advance([65, 66, 67, 68], 4).copy())
        assert not (model.on_gpu and options.overrides)
        context.close()
        model.close()
    assert all(np.array_equal(logits[0], each) for each in logits[1:])
