"""What is estimated from a header is what a real process takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from specchat_assets import builtin_pair
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.machine import this_machine
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.estimate import Use, estimate
from specchat_engine.memory.layers import layer_memories
from support.resident import taken
from support.roomy_models import KINDS

WITHIN = 0.1
PathOf = Callable[[str], Path]


@pytest.fixture(scope="module")
def path_of(tmp_path_factory: pytest.TempPathFactory) -> PathOf:
    """A model of a kind, written when it is needed."""
    folder = tmp_path_factory.mktemp("roomy")
    return cache(lambda kind: KINDS[kind](folder / f"{kind}.gguf"))


@pytest.mark.skipif(sys.platform != "linux", reason="what a process takes is read from /proc")
@pytest.mark.parametrize("kind", KINDS)
def test_the_estimate_is_within_a_tenth_of_what_a_process_takes(path_of: PathOf, kind: str) -> None:
    use = Use(n_ctx=1024, repacked=this_machine().repacked)
    needed = estimate(read_model(path_of(kind)), use).total
    assert needed == pytest.approx(taken(path_of(kind), use), rel=WITHIN)


@pytest.mark.parametrize("flash", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_cache_and_compute_buffer_are_what_llama_cpp_reserves(path_of: PathOf, kind: str, flash: bool) -> None:
    use = Use(n_ctx=4096, flash_attention=flash)
    model = LlamaModel(path_of(kind))
    options = LoadOptions(flash_attention="on" if flash else "off")
    context = LlamaContext(NativeContext(model, n_ctx=use.n_ctx, max_rows=use.rows, threads=1, options=options))
    reserved = context.buffers
    context.close()
    model.close()
    need = estimate(model.header, use).host
    checkpoint = sum(layer.state for layer in layer_memories(model.header)) * 4 if kind in ("mamba2", "jamba") else 0
    assert reserved.compute is not None
    assert reserved.cache is not None
    outputs = 4 * use.rows * model.header.n_vocab
    assert need.cache - checkpoint == pytest.approx(reserved.cache, abs=2 * 5300)
    assert need.compute - outputs == pytest.approx(reserved.compute, rel=0.12)


def test_keys_and_values_take_what_llama_cpp_reports() -> None:
    header = read_model(builtin_pair()[0])
    cache = estimate(header, Use(n_ctx=1024)).host.cache
    assert cache == 3 * 2**20
    assert estimate(header, Use(n_ctx=2000)).host.cache == 2 * cache
    small = estimate(header, Use(n_ctx=1024, cache_type_k="q8_0", cache_type_v="q4_0")).host.cache
    assert small == cache // 2 * 34 // 64 + cache // 2 * 18 // 64


def test_a_window_does_not_shorten_the_cache_as_it_is_kept_whole(path_of: PathOf) -> None:
    header = read_model(path_of("gemma3"))
    assert header.window == 512
    assert estimate(header, Use(n_ctx=4096)).host.cache == 16 * 2**20


@pytest.mark.parametrize(("kind", "states"), [("mamba2", 2), ("jamba", 2), ("lfm2", 9), ("qwen35", 9)])
def test_a_state_is_kept_once_for_each_way_back(path_of: PathOf, kind: str, states: int) -> None:
    header = read_model(path_of(kind))
    with_snapshots = estimate(header, Use(n_ctx=256)).host.cache
    as_a_draft = estimate(header, Use(n_ctx=256, rows=1)).host.cache
    tokens = 0 if kind == "mamba2" else 2 * 128 * 256 * 2 * 4
    assert (with_snapshots - tokens) / states == (as_a_draft - tokens) / 2


@pytest.mark.parametrize("kind", ["lfm2", "qwen35"])
@pytest.mark.parametrize(("texts", "states"), [(2, 18), (3, 6), (4, 8)])
def test_three_texts_or_more_keep_no_snapshots(path_of: PathOf, kind: str, texts: int, states: int) -> None:
    header = read_model(path_of(kind))
    together = estimate(header, Use(n_ctx=256, texts=texts, rows=33 * texts)).host.cache
    as_a_draft = estimate(header, Use(n_ctx=256, rows=1)).host.cache
    tokens = 2 * 128 * 256 * 2 * 4
    assert (together - tokens) / states == (as_a_draft - tokens) / 2


def test_what_does_not_go_to_the_gpu_stays_in_the_computer() -> None:
    header = read_model(builtin_pair()[0])
    nothing, half, everything = (estimate(header, Use(n_ctx=1024, gpu_layers=layers)) for layers in (0, 3, -1))
    assert nothing.gpu.total == 0
    assert half.layers == 3
    assert everything.layers == header.layers + 1
    assert everything.host.cache == 0
    assert everything.gpu.cache == nothing.host.cache
    assert half.gpu.cache + half.host.cache == nothing.host.cache
    embedding = next(tensor.size for tensor in header.tensors if tensor.name == "token_embd.weight")
    assert everything.host.weights == embedding
    assert everything.gpu.weights == nothing.host.weights
    assert half.host.weights + half.gpu.weights == nothing.host.weights + embedding


def test_a_second_copy_is_made_of_layers_only() -> None:
    header = read_model(builtin_pair()[0])
    copied = estimate(header, Use(n_ctx=256, repacked={"F16"})).host.repacked
    matrices = [one for one in header.tensors if one.name.startswith("blk.") and one.type_name == "F16"]
    assert copied == sum(one.size or 0 for one in matrices)


def test_the_use_follows_the_options_the_engine_loads_with() -> None:
    target, draft = (read_model(path) for path in builtin_pair())
    options = LoadOptions(n_ctx=4096, gpu_layers=3, gpu_layers_draft=1, k_max=7, cache_type_k="q8_0")
    one = Use.of(options, target, gpu=True)
    two = Use.of(options, draft, draft_of=target, gpu=True)
    assert (one.n_ctx, one.rows, one.gpu_layers, one.cache_type_k) == (4096, 8, 3, "q8_0")
    assert (two.n_ctx, two.rows, two.gpu_layers) == (draft.n_ctx_train, 2, 1)
    assert Use.of(options, target).gpu_layers == 0
    assert Use.of(LoadOptions(), target).n_ctx == target.n_ctx_train


def test_overrides_move_the_weights_that_they_match() -> None:
    header = read_model(builtin_pair()[0])
    matched = sum(tensor.size or 0 for tensor in header.tensors if "ffn_up" in tensor.name)
    usual = estimate(header, Use(n_ctx=1024, gpu_layers=-1))
    here = estimate(header, Use(n_ctx=1024, gpu_layers=-1, overrides=(("ffn_up", "cpu"),)))
    there = estimate(header, Use(n_ctx=1024, overrides=(("ffn_up", "CUDA0"),)))
    assert here.host.weights - usual.host.weights == usual.gpu.weights - here.gpu.weights == matched
    assert there.gpu.weights == matched
