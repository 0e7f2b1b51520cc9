"""A model written to GGUF comes back, and llama.cpp computes with it what torch does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import llama_cpp
import numpy as np
import pytest
import torch
from gguf import GGUFReader, GGUFWriter

from builtin_pair.gguf_file import write_gguf
from specchat_engine.training.gguf import Precision, copy_fields, finish, read_gguf, write_draft
from specchat_engine.training.model import ModelConfig, TorchLlama
from support.toy_tokenizer import DESCRIPTION, tokenizer_of

CONFIG = ModelConfig(
    vocab_size=320, width=64, layers=2, heads=4, kv_heads=2, feed_forward=96, context=64, norm_eps=2.0**-17
)
IDS = [5, 200, 17, 3, 3, 291, 40]


def write(path: Path, precision: Precision) -> TorchLlama:
    model = TorchLlama(CONFIG, seed=2).requires_grad_(False)
    write_gguf(path, model, tokenizer_of(320), DESCRIPTION, precision)
    return model


@pytest.mark.parametrize("precision", get_args(Precision))
def test_a_written_model_comes_back(tmp_path: Path, precision: Precision) -> None:
    model = write(tmp_path / "toy.gguf", precision)
    back = read_gguf(tmp_path / "toy.gguf")
    tolerance = {"F32": 0.0, "F16": 1e-3, "BF16": 1e-2, "Q8_0": 1e-2}[precision]
    assert back.config == model.config
    for one, other in zip(model.parameters(), back.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def test_llama_cpp_computes_the_logits_of_torch(tmp_path: Path) -> None:
    model = write(tmp_path / "toy.gguf", "F32")
    np.testing.assert_allclose(last_logits(tmp_path / "toy.gguf"), torch_logits(model), atol=2e-3)


def test_stretched_rotary_periods_are_read_written_and_computed_with(tmp_path: Path) -> None:
    """As in the files of Llama 3.1 and later."""
    path, factors = tmp_path / "stretched.gguf", (1.0, 1.0, 2.0, 4.0, 8.0, 32.0, 32.0, 32.0)
    write(tmp_path / "toy.gguf", "F32")
    model = TorchLlama(replace(CONFIG, rope_factors=factors), seed=2).requires_grad_(False)
    for name, weight in model.named_parameters():
        if "query" in name or "key" in name:
            weight *= 12  # so that attention is sharp and positions matter
    plain = TorchLlama(CONFIG)
    plain.load_state_dict(model.state_dict())
    write_draft(path, model, tmp_path / "toy.gguf", "stretched", "F32")
    assert read_gguf(path).config == model.config
    np.testing.assert_allclose(last_logits(path), torch_logits(model), atol=2e-3)
    assert np.abs(torch_logits(model) - torch_logits(plain.requires_grad_(False))).max() > 0.02


@pytest.mark.parametrize("precision", get_args(Precision))
def test_matrices_are_held_in_the_asked_precision(tmp_path: Path, precision: Precision) -> None:
    write(tmp_path / "toy.gguf", precision)
    whole, half = read_gguf(tmp_path / "toy.gguf"), read_gguf(tmp_path / "toy.gguf", torch.bfloat16)
    for one, other in zip(whole.parameters(), half.parameters(), strict=True):
        assert one.dtype == torch.float32
        assert other.dtype == (torch.bfloat16 if other.dim() == 2 else torch.float32)
        assert torch.equal(one.to(other.dtype), other)


@pytest.mark.parametrize(
    ("extra", "complaint"),
    [
        (lambda writer: writer.add_tensor("blk.0.attn_q.bias", np.ones(64, np.float32)), "has the tensor blk.0.attn_q"),
        (lambda writer: writer.add_rope_scaling_factor(4.0), "positions are scaled by 4: that cannot be read"),
        (lambda writer: writer.add_key_length(32), "attention.key_length is 32, and only 16 can be read"),
    ],
)
def test_what_torch_would_compute_otherwise_is_refused(
    tmp_path: Path, extra: Callable[[GGUFWriter], None], complaint: str
) -> None:
    write(tmp_path / "toy.gguf", "F32")
    reader, writer = GGUFReader(tmp_path / "toy.gguf"), GGUFWriter(tmp_path / "other.gguf", "llama")
    copy_fields(reader, writer, ("llama.",))
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, tensor.data)
    extra(writer)
    finish(writer)
    with pytest.raises(ValueError, match=re.escape(complaint)) as refused:
        read_gguf(tmp_path / "other.gguf")
    assert str(refused.value).startswith(str(tmp_path / "other.gguf"))


def torch_logits(model: TorchLlama) -> np.ndarray:
    return model.logits(model(torch.tensor([IDS]), torch.arange(len(IDS))[None]))[0, -1].numpy()


def last_logits(path: Path) -> np.ndarray:
    loaded = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    context = llama_cpp.llama_init_from_model(loaded, llama_cpp.llama_context_default_params())
    try:
        ids = (llama_cpp.llama_token * len(IDS))(*IDS)
        assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(ids, len(IDS))) == 0
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (CONFIG.vocab_size,)).copy()
    finally:
        llama_cpp.llama_free(context)
        llama_cpp.llama_model_free(loaded)
