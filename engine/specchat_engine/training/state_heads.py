"""Medusa heads and an MLPSpeculator in torch, and their files: both read the target's last state after its norm.

Medusa: Cai et al., arXiv 2401.10774. MLPSpeculator: Wertheimer et al., arXiv 2404.19124. The layouts of the files are
those that their authors publish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from specchat_engine.drafters.state_heads import embedding_weight
from specchat_engine.training.gguf import Precision
from specchat_engine.training.heads import TrainableHead, states_before, tokens_ahead

_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


class MedusaHead(TrainableHead):
    """Heads of one residual block each, with the target's output matrix. They start as the target's own prediction."""

    first = 1
    output: Tensor

    def __init__(self, output: Tensor, steps: int) -> None:
        """`output` [vocab_size, width] stays as it is; `steps` is the number of heads."""
        super().__init__()
        width = output.shape[1]
        self.register_buffer("output", output, persistent=False)
        self.blocks = nn.ModuleList(nn.Linear(width, width) for _ in range(steps))
        for weight in self.blocks.parameters():
            nn.init.zeros_(weight)

    def unrolled(
        self, ids: Tensor, positions: Tensor, documents: Tensor, states: Tensor, steps: int
    ) -> Iterator[Tensor]:
        """The output [batch, length, width] of each head."""
        state = states_before(states, positions)
        for _, block in zip(range(steps), self.blocks, strict=False):
            yield state + functional.silu(block(state))

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores [..., vocab_size]."""
        return functional.linear(hidden, self.output)

    def write(self, path: Path, precision: Precision) -> None:
        """Writes the file that `pairing.state_head` reads, the output matrix once."""
        tensors = {"0.1.weight": self.output}
        for step, block in enumerate(self.blocks):
            tensors |= {f"{step}.0.linear.{name}": value for name, value in block.state_dict().items()}
        _save(path, tensors, precision, {"medusa_num_heads": str(len(self.blocks)), "medusa_num_layers": "1"})


class SpeculatorHead(TrainableHead):
    """An MLPSpeculator whose steps share all weights but the projection of the target's state."""

    first = 1

    def __init__(self, vocab_size: int, width: int, inner: int, steps: int, seed: int) -> None:
        """The target's state has `width` numbers, its own has `inner`; it drafts `steps` tokens."""
        super().__init__()
        self.steps = steps
        self.embedding = nn.Embedding(vocab_size, inner)
        self.begin = nn.Linear(width, inner, bias=False)
        self.project = nn.Linear(inner, inner, bias=False)
        self.norm_weight = nn.Parameter(torch.ones(inner))
        self.norm_bias = nn.Parameter(torch.zeros(inner))
        self.output_embedding = nn.Linear(inner, vocab_size, bias=False)
        self._embedding_weight = float(embedding_weight(steps, inner))
        generator = torch.Generator().manual_seed(seed)
        for weight in (self.embedding.weight, self.begin.weight, self.project.weight, self.output_embedding.weight):
            nn.init.normal_(weight, std=1 / math.sqrt(weight.shape[1]), generator=generator)

    def unrolled(
        self, ids: Tensor, positions: Tensor, documents: Tensor, states: Tensor, steps: int
    ) -> Iterator[Tensor]:
        """The state [batch, length, inner] after each token."""
        state = _normed(states_before(states, positions)) / math.sqrt(2)
        for step in range(min(steps, self.steps)):
            projected = self.project(state) if step else self.begin(state)
            mixed = projected + self._embedding_weight * self.embedding(tokens_ahead(ids, step))
            state = functional.gelu(self.norm_weight * _normed(mixed) + self.norm_bias)
            yield state

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores [..., vocab_size]."""
        scores: Tensor = self.output_embedding(hidden)
        return scores

    def write(self, path: Path, precision: Precision) -> None:
        """Writes the file that `pairing.state_head` reads, shared matrices once."""
        tensors = {
            "speculator.emb.0.weight": self.embedding.weight,
            "speculator.proj.0.weight": self.begin.weight,
            "speculator.proj.1.weight": self.project.weight,
            "speculator.ln.0.weight": self.norm_weight,
            "speculator.ln.0.bias": self.norm_bias,
            "speculator.head.0.weight": self.output_embedding.weight,
        }
        facts = {"n_predict": str(self.steps), "scale_input": "true", "tie_weights": "true"}
        _save(path, tensors, precision, facts)


def _normed(x: Tensor) -> Tensor:
    return functional.rms_norm(x, x.shape[-1:], eps=1e-6)


def _save(path: Path, tensors: dict[str, Tensor], precision: Precision, facts: dict[str, str]) -> None:
    """Quantised types are for llama.cpp: these heads get half precision instead."""
    dtype = _TYPES.get(precision, torch.float16)
    save_file({name: tensor.detach().to(dtype).contiguous() for name, tensor in tensors.items()}, path, facts)
