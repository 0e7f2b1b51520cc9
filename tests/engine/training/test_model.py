"""The torch model attends as it should: causally, within its document, and the same with a cache."""

from __future__ import annotations

import pytest
import torch

from builtin_pair.distillation import complete
from builtin_pair.model_card import parameter_count
from specchat_engine.training.model import KeyValueCache, ModelConfig, TorchLlama
from specchat_engine.training.packing import TokenDocument, pack

CONFIG = ModelConfig(vocab_size=50, width=32, layers=2, heads=4, kv_heads=2, feed_forward=48, context=64)


@pytest.fixture
def model() -> TorchLlama:
    return TorchLlama(CONFIG, seed=3).requires_grad_(False)


def test_a_cache_gives_the_same_hidden_states_as_one_pass(model: TorchLlama) -> None:
    ids = torch.randint(0, 50, (2, 9), generator=torch.Generator().manual_seed(1))
    positions = torch.arange(9).expand(2, 9)
    whole = model(ids, positions)
    cache = KeyValueCache(CONFIG.layers)
    first = model(ids[:, :5], positions[:, :5], None, cache)
    mask = torch.ones(9, 9, dtype=torch.bool).tril()[5:].expand(2, 1, 4, 9)
    second = model(ids[:, 5:], positions[:, 5:], mask, cache)
    torch.testing.assert_close(torch.cat((first, second), dim=1), whole, atol=1e-5, rtol=1e-4)


def test_documents_of_one_row_do_not_see_each_other(model: TorchLlama) -> None:
    one, other = TokenDocument([4, 5, 6], [True] * 3), TokenDocument([7, 8], [True] * 2)
    together, alone = pack([[one, other]], 8), pack([[other]], 8)
    seen = model(together.ids, together.positions, together.mask)[0, 3:5]
    torch.testing.assert_close(seen, model(alone.ids, alone.positions, alone.mask)[0, :2], atol=1e-5, rtol=1e-4)


def test_wanted_positions_are_those_of_the_whole_pass(model: TorchLlama) -> None:
    ids, positions = torch.arange(12).reshape(2, 6), torch.arange(6).expand(2, 6)
    wanted = torch.tensor([1, 5, 8])
    whole = model(ids, positions).flatten(0, 1)[wanted]
    torch.testing.assert_close(model(ids, positions, wanted=wanted), whole)


def test_answers_do_not_depend_on_the_prompts_beside_them(model: TorchLlama) -> None:
    prompts = [[3, 4, 5, 6, 7], [9], [11, 12]]
    together = complete(model, prompts, end_id=2, limit=12)
    assert together == [complete(model, [prompt], end_id=2, limit=12)[0] for prompt in prompts]


def test_sizes_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        ModelConfig(vocab_size=50, width=30, layers=1, heads=4, kv_heads=2, feed_forward=48)


def test_the_tied_embedding_counts_once(model: TorchLlama) -> None:
    layer = 2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48 + 2 * 32
    assert parameter_count(model) == 50 * 32 + 2 * layer + 32
