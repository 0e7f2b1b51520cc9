"""Heads in llama.cpp against the same heads in torch, through every step of drafting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from specchat_engine import LoadOptions
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.head import HeadContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.pairing import head_in, own_head
from support.heads import LAYERS, HeadBench, Oracle, random_eagle, random_predicting
from support.tiny_models import write_tiny_model

V = 261
OPTIONS = LoadOptions(k_max=8, flash_attention="off", cache_type_k="f32", cache_type_v="f32")


@pytest.fixture(scope="module")
def target_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("heads") / "target.gguf", layers=3)


@pytest.fixture(params=["eagle3", "one layer", "three layers"])
def bench(request: pytest.FixtureRequest, target_file: Path, tmp_path: Path) -> Iterator[HeadBench[HeadContext]]:
    path = tmp_path / "head.gguf"
    if request.param == "eagle3":
        heads = [random_eagle(path, target_file)]
        model, own = LlamaModel(target_file, gpu_layers=0), LlamaModel(path, gpu_layers=0)
        found = head_in(read_model(target_file), read_model(path), path)
        assert found.layers == LAYERS
    else:
        heads = random_predicting(path, target_file, 1 if request.param == "one layer" else 3)
        model = own = LlamaModel(path, gpu_layers=0, own_head=True)
        found = own_head(read_model(path))
        assert found is not None
    target = LlamaContext(NativeContext(model, n_ctx=256, max_rows=9, threads=1, options=OPTIONS))
    head = HeadContext(own, target, target.hand_out(found.layers), n_ctx=256, threads=1, options=OPTIONS)
    yield HeadBench(target, head, Oracle(target_file, heads))
    head.close()
    target.close()
    for one in {id(own): own, id(model): model}.values():
        one.close()


def text(seed: int, length: int) -> list[int]:
    random = Random(seed)
    return [random.randrange(3, V) for _ in range(length)]


def test_a_prompt_read_in_chunks_predicts_what_torch_predicts(bench: HeadBench[HeadContext]) -> None:
    tokens = text(1, 40)
    bench.target.read(tokens[:17], bool)
    bench.target.read(tokens[:39], bool)
    bench.head.read(tokens[:21], bool)
    bench.head.read(tokens[:39], bool)
    bench.check(bench.head.advance(tokens[39:], 1)[0], tokens, 39)
    assert bench.head.length == 40


@pytest.mark.parametrize("seed", range(3))
def test_every_drafted_row_is_right_whatever_was_accepted_before(bench: HeadBench[HeadContext], seed: int) -> None:
    random, tokens = Random(seed), text(seed, 12)
    bench.target.read(tokens[:-1], bool)
    for _ in range(8):
        k = random.randint(1, 3)
        drafted: list[int] = []
        for _ in range(k):
            row = bench.head.advance(drafted[-1:] or tokens[bench.head.length :], 1)[0]
            bench.check(row, [*tokens, *drafted], len(tokens) - 1)
            drafted.append(random.randrange(3, V))
        bench.target.advance([tokens[-1], *drafted], k + 1)
        tokens += [*drafted[: random.randint(0, k)], random.randrange(3, V)]
        bench.target.rewind(len(tokens) - 1)
        if bench.head.length > len(tokens) - 1:
            bench.head.rewind(len(tokens) - 1)


def test_another_conversation_forgets_the_states_of_the_last_one(bench: HeadBench[HeadContext]) -> None:
    first, second = text(1, 30), text(1, 10) + text(2, 15)
    for tokens in (first, second, first[:12]):
        bench.target.read(tokens[:-1], bool)
        bench.head.keep(tokens[:-1])
        bench.check(bench.head.advance(tokens[bench.head.length :], 1)[0], tokens, len(tokens) - 1)


def test_rejected_tokens_are_never_read_with_the_states_of_others(bench: HeadBench[HeadContext]) -> None:
    tokens = text(3, 10)
    bench.target.read(tokens[:-1], bool)
    bench.head.advance(tokens, 1)
    bench.target.advance([tokens[-1], 7, 8, 9], 4)
    bench.target.rewind(len(tokens))
    tokens += [11, 12]
    bench.target.advance(tokens[-2:-1], 1)
    bench.check(bench.head.advance(tokens[bench.head.length :], 1)[0], tokens, len(tokens) - 1)


def test_after_a_memory_without_states_it_reads_on_from_the_first_that_is_kept(bench: HeadBench[HeadContext]) -> None:
    tokens = text(4, 30)
    bench.target.read(tokens[:20], bool)
    assert bench.target.states is not None
    bench.target.states.cut(0)
    row = bench.head.advance(tokens[:21], 1)[0]
    assert np.isfinite(row).all()
    bench.target.read(tokens[:29], bool)
    bench.head.rewind(20)
    assert np.isfinite(bench.head.advance(tokens[20:], 1)[0]).all()
    assert bench.head.length == 30


def test_a_pass_without_any_states_costs_what_others_cost_and_leaves_nothing(bench: HeadBench[HeadContext]) -> None:
    assert np.isfinite(bench.head.advance([0], 1)).all()
    assert bench.head.busy_ns > 0
    bench.head.rewind(0)
    tokens = text(5, 6)
    bench.target.read(tokens[:-1], bool)
    bench.check(bench.head.advance(tokens, 1)[0], tokens, 5)
