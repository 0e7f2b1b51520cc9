"""Muon's steps are even in every direction, and the rate rises, stays and falls to nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from specchat_engine.training import optimizer
from specchat_engine.training.lora import adapt, adapted
from specchat_engine.training.optimizer import (
    PairedOptimizer,
    Schedule,
    matrix_autocast,
    matrix_precision,
    orthogonalise,
)


@pytest.mark.parametrize("shape", [(24, 64), (64, 24)])
def test_singular_values_come_near_one(shape: tuple[int, int]) -> None:
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(1))
    values = torch.linalg.svdvals(orthogonalise(matrices).float())
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_the_rate_warms_up_stays_and_decays() -> None:
    schedule = Schedule(warm_up_steps=10, decay_from=0.5)
    assert schedule.factor(0, 0.0) == pytest.approx(0.1)
    assert schedule.factor(50, 0.4) == 1.0
    assert schedule.factor(50, 0.75) == pytest.approx(0.5)
    assert schedule.factor(50, 1.0) == 0.0


def test_a_small_regression_is_solved() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8, bias=False), nn.LayerNorm(8))
    inputs, wanted = torch.randn(64, 8), torch.randn(64, 8)
    paired = PairedOptimizer(model, muon_rate=0.02, adam_rate=0.01)
    losses = []
    for _ in range(60):
        loss = (model(inputs) - wanted).square().mean()
        torch.autograd.backward(loss)
        paired.step(1.0)
        losses.append(loss.item())
    assert losses[-1] < 0.85 * losses[0]


CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    matrix_precision.cache_clear()
    yield
    matrix_precision.cache_clear()


@pytest.mark.parametrize(("narrow", "chosen"), [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_a_processor_multiplies_in_what_it_is_faster_with(
    narrow: float, chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.float32: 1.0, torch.bfloat16: narrow}
    monkeypatch.setattr(optimizer, "_seconds", seconds.__getitem__)
    assert matrix_precision(CPU) is chosen
    with matrix_autocast(CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is chosen


def test_the_choice_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = matrix_precision(CPU)
    monkeypatch.setattr(optimizer, "_seconds", {torch.float32: 1.0, torch.bfloat16: 1.0}.pop)
    assert matrix_precision(CPU) is first


def test_a_gpu_is_not_asked() -> None:
    assert matrix_precision(torch.device("cuda")) is torch.bfloat16


def test_adapters_take_the_steps_of_adamw() -> None:
    """Their matrices are thin, and one of them begins at zero: Muon would step by the same length in each direction."""
    model = nn.Sequential(nn.Linear(8, 6, bias=False))
    adapt(model, 2, seed=1)
    loss = (model(torch.randn(16, 8, generator=torch.Generator().manual_seed(2))) - 1).square().mean()
    torch.autograd.backward(loss)
    PairedOptimizer(model, muon_rate=0.0, adam_rate=0.01).step(1.0)
    (layer,) = adapted(model).values()
    torch.testing.assert_close(layer.outward.abs(), torch.full((6, 2), 0.01))
