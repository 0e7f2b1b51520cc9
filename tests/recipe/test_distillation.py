"""What a teacher says is kept whole on disk, and a student that agrees with it has nothing to learn."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from builtin_pair.distillation import KEPT, TeachingStore, distillation_objective, own_answers, teach
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.packing import PackedBatch, TokenDocument, pack

CONFIG = ModelConfig(vocab_size=80, width=32, layers=1, heads=2, kv_heads=1, feed_forward=32, context=64)


@pytest.fixture
def batch() -> PackedBatch:
    return pack([[TokenDocument(range(5, 25), [False] * 8 + [True] * 12)]], 32)


def test_a_student_equal_to_its_teacher_has_no_loss(batch: PackedBatch) -> None:
    teacher = TorchLlama(CONFIG, seed=1)
    taught = teach(teacher, batch)
    assert taught.teaching.ids.shape == (12, KEPT)
    same = distillation_objective(teacher, taught)
    other = distillation_objective(TorchLlama(CONFIG, seed=2), taught)
    assert abs(same.loss.item()) < 0.01 < other.loss.item()
    assert same.correct.float().mean() > 0.9


def test_taught_batches_come_back_from_disk(batch: PackedBatch, tmp_path: Path) -> None:
    taught = teach(TorchLlama(CONFIG, seed=1), batch)
    store = TeachingStore(tmp_path / "teaching")
    store.append([taught])
    (back,) = store.read(0)
    assert len(store) == 1
    assert torch.equal(back.targets, taught.targets)
    torch.testing.assert_close(back.teaching.log_probabilities, taught.teaching.log_probabilities, atol=0.01, rtol=0.01)


def test_own_answers_keep_the_prompt_and_are_learned() -> None:
    teacher = TorchLlama(CONFIG, seed=1).requires_grad_(False)
    document = TokenDocument([9, 10, 11, 12], [False, False, True, True], 3)
    (said,) = own_answers(teacher, [document], end_id=2, limit=6, temperature=0.8, seed=1)
    assert list(said.ids[:2]) == [9, 10]
    assert said.learned == [False, False] + [True] * (len(said.ids) - 2)
    assert said.group == 3
