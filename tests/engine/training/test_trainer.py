"""A run that is killed and goes on ends where an unbroken one ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
import torch

from builtin_pair.distillation import next_token_objective
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.optimizer import Schedule
from specchat_engine.training.packing import PackedBatch, TokenDocument, pack
from specchat_engine.training.trainer import BatchSource, Budget, Trainer, TrainingPlan

CONFIG = ModelConfig(vocab_size=20, width=16, layers=1, heads=2, kv_heads=1, feed_forward=16, context=16)


class CountingSource(BatchSource):
    """Ten documents a step that count upwards; ends after a number of steps."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    @property
    def finished(self) -> bool:
        return self._left == 0

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        starts = [Random(step).randrange(10) for _ in range(10)]
        return [pack([[TokenDocument(range(start, start + 8), [True] * 8)] for start in starts], 8)]

    def observe(self, accuracy: dict[int, float]) -> None:
        self._left -= 1


def train(folder: Path, steps: int, tokens: int = 100_000) -> TorchLlama:
    model = TorchLlama(CONFIG, seed=1)
    plan = TrainingPlan("toy", folder, Budget(tokens), Schedule(2, 0.9), 0.02, 0.01)
    Trainer(model, CountingSource(steps), next_token_objective, plan).run()
    return model


def test_a_resumed_run_ends_where_an_unbroken_one_does(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    whole = train(tmp_path / "whole", 6)
    train(tmp_path / "broken", 2)
    broken = train(tmp_path / "broken", 4)
    for one, other in zip(whole.parameters(), broken.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_progress_is_written_as_json_lines_and_the_loss_falls(tmp_path: Path) -> None:
    train(tmp_path, 30)
    lines = [json.loads(line) for line in (tmp_path / "progress.log").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 31))
    assert lines[-1]["loss"] < 0.7 * lines[0]["loss"]


def test_training_ends_when_the_tokens_are_spent(tmp_path: Path) -> None:
    train(tmp_path, 1000, tokens=400)
    assert json.loads((tmp_path / "progress.log").read_text().splitlines()[-1])["tokens"] == 400


def test_a_deadline_in_the_past_leaves_nothing_to_do() -> None:
    assert Budget(1000, deadline=0.0).progress(0, 5.0) == 1.0


def test_an_unspent_budget_counts_tokens() -> None:
    assert Budget(1000).progress(250, 1e9) == pytest.approx(0.25)
