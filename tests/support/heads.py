"""Heads with random weights for small llama targets, and what they predict by torch alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from specchat_engine.llama.context import LlamaContext
from specchat_engine.models import SessionModel
from specchat_engine.training.gguf import Precision, read_gguf
from specchat_engine.training.head_files import write_eagle, write_predicting
from specchat_engine.training.heads import EagleHead, MtpHead, TrainableHead
from specchat_engine.training.model import TorchLlama
from specchat_engine.training.state_heads import MedusaHead, SpeculatorHead

LAYERS = (0, 1, 2)
"""The layers whose inputs the EAGLE-3 heads read."""


def random_eagle(path: Path, target: Path, seed: int = 1, layers: Sequence[int] = LAYERS) -> EagleHead:
    """An EAGLE-3 head of the target's width, written to a file."""
    model = read_gguf(target)
    embedding = model.embedding.weight.detach()
    config = replace(model.config, layers=1)
    head = _lively(EagleHead(config, embedding, embedding, config.width, seed))
    write_eagle(path, head, layers, config.width, "a random head", "F32")
    return head


def random_predicting(path: Path, target: Path, count: int = 1) -> list[MtpHead]:
    """A copy of the target with layers for multi-token prediction."""
    model = read_gguf(target)
    embedding = model.embedding.weight.detach()
    heads = [_lively(MtpHead(replace(model.config, layers=1), embedding, embedding, seed)) for seed in range(count)]
    write_predicting(path, target, heads, "F32")
    return heads


def random_medusa(path: Path, target: Path) -> MedusaHead:
    """Four Medusa heads with the target's output matrix."""
    head = _lively(MedusaHead(read_gguf(target).embedding.weight.detach(), 4))
    with torch.no_grad():
        for number, block in enumerate(head.blocks):
            nn.init.normal_(block.weight, std=0.2, generator=torch.Generator().manual_seed(number))
    head.write(path, "F32")
    return head


def random_speculator(path: Path, target: Path, precision: Precision = "F32") -> SpeculatorHead:
    """An MLPSpeculator of four steps."""
    config = read_gguf(target).config
    head = _lively(SpeculatorHead(config.vocab_size, config.width, 48, 4, seed=2))
    head.write(path, precision)
    return head


def _lively(head: Any) -> Any:
    """The head with larger weights, so that everything that it reads matters, and no norm like another."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in head.parameters():
            if weight.dim() == 2:
                weight *= 3
            else:
                weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return head


class Oracle:
    """Rows of logits that a head should give, computed anew from the whole text each time."""

    def __init__(self, target: Path, heads: Sequence[TrainableHead]) -> None:
        self._model = read_gguf(target)
        self._heads = heads

    @torch.no_grad()
    def row(self, tokens: Sequence[int], known: int) -> NDArray[np.float32]:
        """The row [V] after these tokens, if the target has read the first `known` of them.

        The tokens from number `known` + 1 on were drafted one by one.
        """
        states = self._states(tokens[:known])
        drafted = len(tokens) - 1 - known
        if not isinstance(self._heads[0], MtpHead):
            return self._chained(tokens, states, drafted)
        outputs: list[Tensor] = []
        for step in range(drafted + 1):
            head = self._heads[min(step, len(self._heads) - 1)]
            read = tokens[: known + 1 + step]
            given = torch.cat([states, *outputs, torch.zeros(1, states.shape[1])])
            hidden = next(head.unrolled(*_placed(read), given[None], 1))[0, -1]
            outputs.append(hidden[None])
        row: NDArray[np.float32] = head.logits(hidden).numpy()
        return row

    def _chained(self, tokens: Sequence[int], states: Tensor, drafted: int) -> NDArray[np.float32]:
        padded = functional.pad(states, (0, 0, 0, len(tokens) - len(states)))
        steps = [*self._heads[0].unrolled(*_placed(tokens), padded[None], drafted + 1)]
        row: NDArray[np.float32] = self._heads[0].logits(steps[-1][0, len(states)]).numpy()
        return row

    def _states(self, tokens: Sequence[int]) -> Tensor:
        """The target's states [n, width of a row]."""
        inputs = layer_inputs(self._model, tokens)
        if isinstance(self._heads[0], EagleHead):
            return torch.cat([inputs[layer] for layer in LAYERS], dim=-1)
        if isinstance(self._heads[0], MtpHead):
            return inputs[-1]
        normed: Tensor = self._model.norm(inputs[-1])
        return normed


Drafts = TypeVar("Drafts", bound=SessionModel)


class HeadBench(Generic[Drafts]):
    """A target, its head, and the oracle."""

    def __init__(self, target: LlamaContext, head: Drafts, oracle: Oracle) -> None:
        self.target, self.head, self.oracle = target, head, oracle

    def check(self, row: NDArray[np.float32], tokens: list[int], known: int) -> None:
        """Compares the head's row after these tokens with the oracle's, where the target has read the first `known`."""
        expected = self.oracle.row(tokens, known)
        assert np.abs(row - expected).max() < 2e-3 * np.abs(expected).max()
        assert row.argmax() == expected.argmax()


def layer_inputs(model: TorchLlama, tokens: Sequence[int]) -> list[Tensor]:
    """The input [n, width] of each layer, and the output of the last."""
    ids, positions, _ = _placed(tokens)
    x, rotary = model.embedding(ids), model.config.rotary(positions)
    found = [x[0]]
    blocks: nn.ModuleList = model.blocks
    for block in blocks:
        x = block(x, rotary, None, None, None)
        found.append(x[0])
    return found


def _placed(tokens: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    ids = torch.tensor([list(tokens)])
    return ids, torch.arange(len(tokens))[None], torch.ones_like(ids)
