"""How attention is computed where nobody chose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_assets import builtin_pair
from specchat_engine import Engine, LoadOptions
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.memory import attention
from specchat_engine.memory.attention import Attention
from specchat_engine.memory.estimate import Use, estimate

HEADER = read_model(builtin_pair()[0])
HEADS = 8


@pytest.fixture(autouse=True)
def x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(attention, "_is_amd_with_avx512", lambda: False)


def on_cpu(options: LoadOptions, n_ctx: int = 1024) -> Attention:
    return Attention.of(options, HEADER, n_ctx, on_cpu=True)


def test_an_x86_keeps_the_scores() -> None:
    assert on_cpu(LoadOptions()) == Attention("off", 128)


def test_an_amd_processor_with_avx_512_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_is_amd_with_avx512", lambda: True)
    assert on_cpu(LoadOptions()) == Attention("auto", 512)


def test_a_gpu_or_another_processor_computes_as_llama_cpp_thinks_best(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Attention.of(LoadOptions(), HEADER, 1024, on_cpu=False) == Attention("auto", 512)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert on_cpu(LoadOptions()) == Attention("auto", 512)


@pytest.mark.parametrize("asked", ["on", "off"])
def test_what_was_asked_for_is_done(asked: str) -> None:
    assert on_cpu(LoadOptions(flash_attention=asked), 2**20) == Attention(asked, 512)


@pytest.mark.parametrize("coarse", [{"cache_type_k": "q8_0"}, {"cache_type_v": "q4_0"}])
def test_coarse_caches_need_flash_attention(coarse: dict[str, str]) -> None:
    assert on_cpu(LoadOptions(**coarse)).flash == "auto"  # type: ignore[arg-type]


def test_long_contexts_are_read_fewer_tokens_at_a_time_and_the_longest_with_flash_attention() -> None:
    assert on_cpu(LoadOptions(), 32_768) == Attention("off", 128)
    assert on_cpu(LoadOptions(), 65_536 + 1) == Attention("off", 64)
    assert on_cpu(LoadOptions(), 2**20) == Attention("auto", 512)


@given(n_ctx=st.integers(1, 2**21), batch=st.integers(1, 4096), ubatch=st.integers(1, 4096))
def test_scores_never_take_more_than_half_a_gigabyte(n_ctx: int, batch: int, ubatch: int) -> None:
    found = on_cpu(LoadOptions(batch_size=batch, ubatch_size=ubatch), n_ctx)
    assert found.ubatch_size <= ubatch
    assert found.flash == "auto" or 4 * HEADS * n_ctx * found.ubatch_size <= 2**29


def test_what_is_estimated_is_what_llama_cpp_reserves() -> None:
    options = LoadOptions(n_ctx=16_384)
    model = LlamaModel(builtin_pair()[0])
    context = LlamaContext(NativeContext(model, n_ctx=options.n_ctx, max_rows=33, threads=1, options=options))
    reserved, chosen = context.buffers.compute, context.attention
    context.close()
    model.close()
    assert chosen == Attention("off", 128)
    outputs = 4 * 33 * HEADER.n_vocab
    assert estimate(HEADER, Use.of(options, HEADER)).host.compute - outputs == pytest.approx(reserved, rel=0.05)


def test_a_record_of_costs_belongs_to_contexts_of_any_length() -> None:
    """Also where prompts are read fewer tokens at a time: no round's pass is as wide as that."""
    found = []
    for options in (LoadOptions(n_ctx=512), LoadOptions(n_ctx=16_384), LoadOptions(n_ctx=512, flash_attention="on")):
        with Engine.load(builtin_pair()[0], None, options) as engine:
            found.append(engine.identity)
    assert found[0] == found[1] != found[2]


def test_with_the_scores_kept_a_wide_pass_differs_less_from_narrow_ones() -> None:
    model = LlamaModel(builtin_pair()[0])
    apart = {}
    ids = [300 + place * 7 % 3000 for place in range(324)]
    for flash in ("on", "auto"):
        options = LoadOptions(n_ctx=512, flash_attention=flash)
        context = LlamaContext(NativeContext(model, n_ctx=512, max_rows=5, threads=2, options=options))
        context.read(ids[:320], lambda: False)
        narrow = [context.advance([token], 1)[0].copy() for token in ids[320:]]
        context.rewind(320)
        apart[flash] = float(np.abs(context.advance(ids[320:], 4) - np.array(narrow)).max())
        context.close()
    model.close()
    assert apart["auto"] < apart["on"]
