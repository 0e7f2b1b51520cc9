"""Low-rank adaptation: a large model learns through two thin matrices beside each of its frozen ones.

Hu et al., "LoRA", arXiv 2106.09685. A frozen matrix W becomes W + s · B·A with A [rank, inputs] and B [outputs, rank].
B starts at zero, so that nothing changes before the first step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import gguf
import torch
from torch import Tensor, nn
from torch.nn import functional

from specchat_engine.training.gguf import (
    FILE_TYPES,
    Precision,
    add_tensor,
    copy_fields,
    finish,
    read_config,
    tensor_names,
    tensor_weights,
)

SCALE = 2.0
"""s, which the paper writes as α / rank."""


class LowRankLinear(nn.Linear):
    """A linear layer without bias whose matrix is frozen; only `inward` (A) and `outward` (B) learn.

    The matrix may be held in the precision of `matrix_autocast`, the adapters are in float32.
    """

    def __init__(self, frozen: Tensor, rank: int, generator: torch.Generator) -> None:
        outputs, inputs = frozen.shape
        super().__init__(inputs, outputs, bias=False, device="meta")
        _freeze(self, "weight", frozen)
        self.inward = nn.Parameter(torch.empty(rank, inputs))
        self.outward = nn.Parameter(torch.zeros(outputs, rank))
        nn.init.normal_(self.inward, std=1 / math.sqrt(inputs), generator=generator)

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] to [..., outputs]."""
        change = functional.linear(functional.linear(x, self.inward), self.outward)
        return functional.linear(x, self.weight) + SCALE * change

    def change(self) -> Tensor:
        """What the adapter adds to the matrix: s · B·A [outputs, inputs]."""
        return SCALE * self.outward.detach() @ self.inward.detach()


def adapt(model: nn.Module, rank: int, seed: int) -> None:
    """Freezes a model and gives each of its linear layers an adapter.

    What is frozen stays in its precision, is not a parameter any more, and is in no state.
    """
    generator = torch.Generator().manual_seed(seed)
    for module in [*model.modules()]:
        for name, child in [*module.named_children()]:
            if isinstance(child, nn.Linear):
                setattr(module, name, LowRankLinear(child.weight.detach(), rank, generator))
    for module in model.modules():
        if not isinstance(module, LowRankLinear):
            for name, weight in [*module.named_parameters(recurse=False)]:
                _freeze(module, name, weight.detach())


def is_adapter(name: str) -> bool:
    """Whether a parameter of this name belongs to an adapter."""
    return name.endswith((".inward", ".outward"))


def adapted(model: nn.Module) -> dict[str, LowRankLinear]:
    """The adapted layers, by the name of their matrix in the state of the model without adapters."""
    return {f"{name}.weight": part for name, part in model.named_modules() if isinstance(part, LowRankLinear)}


def _freeze(module: nn.Module, name: str, value: Tensor) -> None:
    delattr(module, name)
    module.register_buffer(name, value, persistent=False)


def write_merged(
    path: Path, base: Path, adapted: Mapping[str, LowRankLinear], target: Path, name: str, precision: Precision
) -> None:
    """Writes the llama model of the file `base` with adapters merged, and with the target's tokenizer and template.

    `adapted` has the layers by their names in the state of a `TorchLlama`. The adapters are added to the weights of the
    file, not to those that training rounded. Matrices are written in `precision`; what is in it already and has no
    adapter is copied as it is.
    """
    reader = gguf.GGUFReader(base)
    names = dict(tensor_names(read_config(reader).layers))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name(name)
    writer.add_file_type(FILE_TYPES[precision])
    copy_fields(reader, writer, ("llama.",))
    copy_fields(gguf.GGUFReader(target), writer, ("tokenizer.",))
    for tensor in reader.tensors:
        layer = adapted.get(names.get(tensor.name, ""))
        if layer is not None:
            add_tensor(writer, tensor.name, tensor_weights(tensor) + layer.change(), precision)
        elif len(tensor.shape) == 1 or tensor.tensor_type == gguf.GGMLQuantizationType[precision]:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            add_tensor(writer, tensor.name, tensor_weights(tensor), precision)
    finish(writer)
