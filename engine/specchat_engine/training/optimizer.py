"""Muon for the hidden matrices, AdamW for embedding, norms and adapters, and the schedule of their rates.

Muon: Keller Jordan et al., "Muon: An optimizer for hidden layers in neural networks" (2024),
https://kellerjordan.github.io/posts/muon/, with its quintic polynomial. AdamW: Loshchilov and Hutter, arXiv 1711.05101.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from specchat_engine.training.lora import is_adapter

_A, _B, _C = 3.4445, -4.7750, 2.0315
_ITERATIONS = 4


def orthogonalise(matrices: Tensor) -> Tensor:
    """The nearest half-orthogonal matrices, roughly, of a stack [count, rows, columns].

    A Newton-Schulz iteration, in bfloat16 where that is fast. Four rounds take every singular value above 0.005 of the
    matrix's norm to between 0.68 and 1.2; a fifth would reach below 0.002 and cost as much as a twentieth of a step.
    """
    x = matrices.to(matrix_precision(matrices.device))
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) * 1.01 + 1e-7)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.mT if tall else x


class Muon(torch.optim.Optimizer):
    """Steps along the orthogonalised, Nesterov-averaged gradient of two-dimensional weights."""

    def __init__(self, weights: Iterable[Tensor], rate: float, momentum: float = 0.95, decay: float = 0.02) -> None:
        super().__init__(weights, {"lr": rate, "momentum": momentum, "decay": decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # a loss to be evaluated anew is not supported
        """Updates every weight that has a gradient; matrices of one shape are orthogonalised together."""
        for group in self.param_groups:
            shapes: defaultdict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["average"] = torch.zeros_like(weight)
                average = state["average"].lerp_(weight.grad, 1 - group["momentum"])
                shapes[weight.shape].append((weight, weight.grad.lerp(average, group["momentum"])))
            for shape, pairs in shapes.items():
                scale = math.sqrt(max(1.0, shape[0] / shape[1]))
                directions = orthogonalise(torch.stack([direction for _, direction in pairs]))
                for (weight, _), direction in zip(pairs, directions, strict=True):
                    weight.mul_(1 - group["lr"] * group["decay"])
                    weight.add_(direction.to(weight.dtype), alpha=-group["lr"] * scale)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Warm-up over a number of steps, a plateau, then a straight decay to zero at the end of the budget."""

    warm_up_steps: int
    decay_from: float

    def factor(self, step: int, progress: float) -> float:
        """The share of the full rate at a step, `progress` being the part of the budget that is spent, 0 to 1."""
        warm = min(1.0, (step + 1) / self.warm_up_steps)
        if progress <= self.decay_from:
            return warm
        return warm * max(0.0, (1 - progress) / (1 - self.decay_from))


class PairedOptimizer:
    """Muon and AdamW over one model, each weight in the one that suits it."""

    def __init__(self, model: nn.Module, muon_rate: float, adam_rate: float) -> None:
        hidden: list[Tensor] = []
        others: list[Tensor] = []
        for name, weight in model.named_parameters():
            suits_muon = weight.dim() == 2 and "embedding" not in name and not is_adapter(name)
            (hidden if suits_muon else others).append(weight)
        self._rates: list[float] = []
        self._optimizers: list[torch.optim.Optimizer] = []
        if hidden:
            self._rates.append(muon_rate)
            self._optimizers.append(Muon(hidden, muon_rate))
        if others:
            self._rates.append(adam_rate)
            self._optimizers.append(torch.optim.AdamW(others, adam_rate, betas=(0.9, 0.98), weight_decay=0.0))

    def step(self, factor: float) -> None:
        """One update at `factor` times the full rates; gradients are cleared."""
        for optimizer, rate in zip(self._optimizers, self._rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """Everything that `load_state_dict` needs to go on."""
        return [optimizer.state_dict() for optimizer in self._optimizers]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Goes on from a saved state."""
        for optimizer, state in zip(self._optimizers, states, strict=True):
            optimizer.load_state_dict(state)


_ROWS, _WIDTH, _TRIES = 64, 512, 3


@cache
def matrix_precision(device: torch.device) -> torch.dtype:
    """bfloat16, unless the device is slower with it than with float32, as a CPU without instructions for it is.

    Without them torch is up to a hundred times as slow at the products of the way back, those whose right side is not
    transposed, and does not say so; hence one of these is timed in both.
    """
    if device.type != "cpu":
        return torch.bfloat16
    wide, narrow = _seconds(torch.float32), _seconds(torch.bfloat16)
    return torch.bfloat16 if narrow <= wide else torch.float32


def matrix_autocast(device: torch.device) -> torch.autocast:
    """The context in which a model's passes run in that precision."""
    return torch.autocast(device.type, torch.bfloat16, enabled=matrix_precision(device) is torch.bfloat16)


def _seconds(precision: torch.dtype) -> float:
    """The fastest of a few tries after an untimed one, so that neither start-up nor a busy moment decides."""
    left, right = torch.ones(_ROWS, _WIDTH, dtype=precision), torch.ones(_WIDTH, _WIDTH, dtype=precision)
    left @ right
    tries = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        left @ right
        tries.append(time.perf_counter() - began)
    return min(tries)
