"""Medusa heads and an MLPSpeculator on a real target against the same heads in torch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from specchat_engine import LoadOptions
from specchat_engine.drafters.state_heads import StateHeadModel, gelu
from specchat_engine.gguf import read_model
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.pairing import head_in, read_state_head
from support.heads import HeadBench, Oracle, random_medusa, random_speculator
from support.tiny_models import write_tiny_model

V = 261
OPTIONS = LoadOptions(flash_attention="off", cache_type_k="f32", cache_type_v="f32")


@pytest.fixture(params=["medusa", "mlp"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HeadBench[StateHeadModel]]:
    target_file, path = write_tiny_model(tmp_path / "target.gguf", layers=3), tmp_path / "head.safetensors"
    written = (random_medusa if request.param == "medusa" else random_speculator)(path, target_file)
    header = read_model(path)
    found = head_in(read_model(target_file), header, path)
    assert (found.name, found.longest) == (request.param, 4)
    model = LlamaModel(target_file, gpu_layers=0)
    target = LlamaContext(NativeContext(model, n_ctx=256, max_rows=9, threads=1, options=OPTIONS))
    states = target.hand_out(found.layers)
    head = StateHeadModel(read_state_head(path, header), states, capacity=256, n_vocab=V)
    yield HeadBench(target, head, Oracle(target_file, [written]))
    target.close()
    model.close()


def text(seed: int, length: int) -> list[int]:
    random = Random(seed)
    return [random.randrange(3, V) for _ in range(length)]


@pytest.mark.parametrize("seed", range(3))
def test_every_drafted_row_is_right_whatever_was_accepted_before(bench: HeadBench[StateHeadModel], seed: int) -> None:
    random, tokens = Random(seed), text(seed, 12)
    bench.target.read(tokens[:-2], bool)
    bench.target.advance(tokens[-2:-1], 1)
    for _ in range(8):
        k = random.randint(1, 4)
        drafted: list[int] = []
        assert bench.head.has_state(tokens)
        for _ in range(k):
            row = bench.head.advance(drafted[-1:] or tokens[bench.head.length :], 1)[0]
            bench.check(row, [*tokens, *drafted], len(tokens) - 1)
            drafted.append(random.randrange(3, V))
        bench.target.advance([tokens[-1], *drafted], k + 1)
        tokens += [*drafted[: random.randint(0, k)], random.randrange(3, V)]
        bench.target.rewind(len(tokens) - 1)
        bench.head.rewind(min(bench.head.length, len(tokens) - 1))


def test_a_prompt_leaves_no_state_and_the_next_pass_does(bench: HeadBench[StateHeadModel]) -> None:
    tokens = text(4, 20)
    bench.target.read(tokens[:18], bool)
    assert not bench.head.has_state(tokens[:19])
    bench.target.advance(tokens[18:19], 1)
    assert bench.head.has_state(tokens)
    assert not bench.head.has_state(tokens[:19])
    bench.target.keep(tokens[:10])
    assert not bench.head.has_state(tokens[:11])


def test_a_head_that_has_no_state_gives_a_row_all_the_same(bench: HeadBench[StateHeadModel]) -> None:
    assert np.isfinite(bench.head.advance([5], 1)).all()
    assert bench.head.busy_ns > 0
    assert bench.head.advance([6, 7], 0).shape == (0, V)
    assert bench.head.length == 3


def test_the_logits_of_the_target_are_the_same_with_and_without_states(bench: HeadBench[StateHeadModel]) -> None:
    tokens = text(6, 24)
    bench.target.read(tokens[:16], bool)
    with_states = bench.target.advance(tokens[16:], 8).copy()
    bench.target.keep(tokens[:16])
    bench.target.states = None
    assert np.abs(bench.target.advance(tokens[16:], 8) - with_states).max() < 1e-4


def test_gelu_has_six_right_digits() -> None:
    x = np.linspace(-6, 6, 601, dtype=np.float32)
    exact = [value * 0.5 * (1 + math.erf(value / math.sqrt(2))) for value in x.tolist()]
    assert np.abs(gelu(x) - np.array(exact)).max() < 2e-6
