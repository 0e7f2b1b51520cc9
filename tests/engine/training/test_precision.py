from __future__ import annotations

import pytest
import torch

from specchat_engine.training import precision
from specchat_engine.training.precision import matrix_autocast, matrix_precision

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def forgotten() -> None:
    matrix_precision.cache_clear()


@pytest.mark.parametrize(("narrow", "chosen"), [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_a_processor_multiplies_in_what_it_is_faster_with(
    narrow: float, chosen: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {torch.float32: 1.0, torch.bfloat16: narrow}
    monkeypatch.setattr(precision, "_seconds", seconds.__getitem__)
    assert matrix_precision(CPU) is chosen
    with matrix_autocast(CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is chosen


def test_the_choice_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = matrix_precision(CPU)
    monkeypatch.setattr(precision, "_seconds", {torch.float32: 1.0, torch.bfloat16: 1.0}.pop)
    assert matrix_precision(CPU) is first


def test_a_gpu_is_not_asked() -> None:
    assert matrix_precision(torch.device("cuda")) is torch.bfloat16
