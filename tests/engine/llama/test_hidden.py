"""The states of the latest tokens, and nothing of what was dropped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from specchat_engine import LoadOptions
from specchat_engine.llama import hidden
from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.model import LlamaModel
from specchat_engine.llama.native import NativeContext
from specchat_engine.training.gguf import read_gguf
from support.heads import layer_inputs
from support.tiny_models import write_tiny_model

OPTIONS = LoadOptions(batch_size=16, flash_attention="off", cache_type_k="f32", cache_type_v="f32")


@pytest.fixture
def target(tmp_path: Path) -> Iterator[tuple[LlamaContext, Path]]:
    path = write_tiny_model(tmp_path / "target.gguf", layers=3)
    model = LlamaModel(path, gpu_layers=0)
    context = LlamaContext(NativeContext(model, n_ctx=256, max_rows=5, threads=1, options=OPTIONS))
    yield context, path
    context.close()
    model.close()


def test_a_row_joins_the_inputs_of_its_layers(target: tuple[LlamaContext, Path]) -> None:
    context, path = target
    states = context.hand_out((2, 0))
    tokens = [5, 9, 30, 7, 7, 8]
    context.read(tokens[:4], bool)
    context.advance(tokens[4:], 2)
    expected = layer_inputs(read_gguf(path), tokens)
    rows = states.rows(0, 6)
    assert rows.shape == (6, 128)
    np.testing.assert_allclose(rows[:, :64], expected[2].detach().numpy(), atol=2e-3)
    np.testing.assert_allclose(rows[:, 64:], expected[0].detach().numpy(), atol=2e-3)


def test_what_the_memory_drops_the_states_drop_too(target: tuple[LlamaContext, Path]) -> None:
    context, _ = target
    states = context.hand_out((1,))
    context.read(list(range(3, 13)), bool)
    before = states.rows(0, 6).copy()
    context.advance([40, 41], 2)
    context.rewind(6)
    assert (states.first, states.end) == (0, 6)
    np.testing.assert_array_equal(states.rows(0, 6), before)
    context.keep([3, 4, 9])
    assert states.end == 2
    context.clear()
    assert (states.first, states.end) == (0, 0)


def test_of_a_tree_the_states_of_the_path_stay(target: tuple[LlamaContext, Path]) -> None:
    context, _ = target
    states = context.hand_out((1,))
    for path in ([1, 2], [0], []):
        context.clear()
        context.advance([3, 4, 5], 0)
        context.advance_tree(6, [10, 11, 12], [-1, -1, 1])
        context.take(path)
        said = [3, 4, 5, 6, *([10, 11, 12][node] for node in path)]
        found = states.rows(0, states.end).copy()
        context.clear()
        context.advance(said, 1)
        np.testing.assert_allclose(found, states.rows(0, len(said)), atol=2e-3)


def test_only_the_latest_are_kept_when_memory_is_full(
    target: tuple[LlamaContext, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hidden, "_KEPT_BYTES", 40 * 64 * 4)
    context, _ = target
    states = context.hand_out((1,))
    tokens = [3 + number % 200 for number in range(100)]
    for start in range(0, 100, 7):
        context.advance(tokens[start : start + 7], 0)
        assert states.end == context.length
        assert states.end - states.first <= 40
    kept = states.rows(states.first, states.end).copy()
    assert states.end - states.first >= 20
    context.clear()
    context.hand_out((1,))
    monkeypatch.setattr(hidden, "_KEPT_BYTES", 2**20)
    whole = context.hand_out((1,))
    context.read(tokens, bool)
    np.testing.assert_allclose(kept, whole.rows(100 - len(kept), 100), atol=1e-5)


def test_tokens_that_were_restored_have_no_states(target: tuple[LlamaContext, Path], tmp_path: Path) -> None:
    context, _ = target
    states = context.hand_out((1,))
    context.read(list(range(3, 13)), bool)
    context.save(tmp_path / "memory")
    assert context.restore(tmp_path / "memory")
    assert states.end == 0
    context.advance([50], 1)
    assert (states.first, states.end) == (10, 11)
