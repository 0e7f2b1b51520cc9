"""Medusa heads and MLPSpeculators in the safetensors layouts that their authors publish.

Medusa: `{head}.{block}.linear.weight`, `{head}.{block}.linear.bias`, and `{head}.{number of blocks}.weight` for the
output. MLPSpeculator: `speculator.{emb,proj,ln,head}.{step}.weight` and `speculator.ln.{step}.bias`. A matrix that is
missing is that of the step before, since tied ones are written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import count
from math import inf, prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from specchat_engine.drafters.state_heads import Medusa, MlpSpeculator, ResidualBlock, Stage, StateHead
from specchat_engine.errors import PairError
from specchat_engine.gguf import GgufHeader, TensorInfo
from specchat_engine.load_options import NORMED, Head

_MOST_OUTPUTS = 8192
"""Ids that a head can predict. Tokenizers number their tokens roughly by frequency, and each row costs time."""

_MOST_STEPS, _MOST_BLOCKS = 16, 8
_TYPES: Final = ("F32", "F16", "BF16")


def state_head(head: GgufHeader, path: Path) -> Head:
    """The head of a file for which `misfit` knows no reason against it."""
    return Head(head.architecture, (NORMED,), str(path), LAYOUTS[head.architecture](head).steps)


def read_state_head(path: Path, head: GgufHeader, free: int = 0) -> StateHead:
    """Reads the weights of such a head. From now on numpy multiplies with one thread: its others would wait in a busy
    loop after each product, and take the processors from llama.cpp's.

    Raises PairError if they take more bytes of memory than are `free`, where 0 means that this is not known.
    """
    import ml_dtypes  # noqa: F401  numpy knows bfloat16 once it is imported
    from safetensors import safe_open
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
    with safe_open(path, "numpy") as file:
        return LAYOUTS[head.architecture](head).read(_Weights(path, file, free or inf))


class _Weights:
    """Reads each tensor once, and only as many rows as needed."""

    def __init__(self, path: Path, file: Any, free: float) -> None:
        self._path = path
        self._file = file
        self._free = self._left = free
        self._kept: dict[str, NDArray[Any]] = {}

    def read(self, tensor: TensorInfo, most: int | None = None, *, stored: bool = False) -> NDArray[Any]:
        """A tensor in float32, or as it is stored; of a matrix perhaps its first rows."""
        if tensor.name not in self._kept:
            rows = min(tensor.shape[-1], most or tensor.shape[-1])
            width = (tensor.size or 0) // tensor.elements if stored else 4
            self._left -= rows * prod(tensor.shape[:-1]) * width
            if self._left < 0:
                raise PairError(
                    f"{self._path.name} takes more memory than the {self._free / 1e9:.1f} GB that are free: use "
                    "another head, or lookup"
                )
            values = self._file.get_slice(tensor.name)[:rows]
            self._kept[tensor.name] = np.ascontiguousarray(values, None if stored else np.float32)
        return self._kept[tensor.name]


class Layout(ABC):
    """How a kind of head is laid out in its file."""

    def __init__(self, head: GgufHeader) -> None:
        self._tensors = {tensor.name: tensor for tensor in head.tensors}
        self._head = head

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many tokens it predicts in a row."""

    @abstractmethod
    def read(self, weights: _Weights) -> StateHead:
        """Makes the head."""

    @abstractmethod
    def _wrong_tensors(self, target: GgufHeader) -> Iterator[str]:
        """What is wrong with the tensors of each step; empty texts for what is right."""

    def misfit(self, target: GgufHeader) -> str:
        """Why it cannot draft for this target, empty if it can."""
        if not 0 < self.steps <= _MOST_STEPS:
            return f"it predicts {self.steps} tokens, 1 to {_MOST_STEPS} can be run"
        return next(filter(None, self._wrong_tensors(target)), "")

    def _count(self, pattern: str) -> int:
        """How many tensors there are of this name with 0, 1, 2, … in it."""
        return next(index for index in count() if pattern.format(index) not in self._tensors)

    def _tied(self, pattern: str, step: int) -> str:
        """The tensor of a step, or that of an earlier step which it shares."""
        names = (pattern.format(index) for index in range(step, -1, -1))
        return next((name for name in names if name in self._tensors), pattern.format(step))

    def _wrong(self, name: str, *shape: int) -> str:
        """What is wrong with a tensor that should have this shape, rows last."""
        tensor = self._tensors.get(name)
        if tensor is None:
            return f"it has no {name}"
        if not tensor.elements:
            return f"its {name} is empty"
        if tensor.shape != shape:
            return f"its {name} has the shape {tensor.shape[::-1]}, not {shape[::-1]}"
        if tensor.type_name not in _TYPES:
            return f"its {name} is not of a type among {', '.join(_TYPES)}"
        return ""

    def _wrong_output(self, name: str, width: int, target: GgufHeader) -> str:
        """What is wrong with an output matrix, which may have rows for the first ids only."""
        tensor = self._tensors.get(name)
        rows = tensor.shape[-1] if tensor and tensor.shape else 0
        wrong = self._wrong(name, width, rows)
        if wrong or 0 < rows <= target.n_vocab:
            return wrong
        return f"its vocabulary has {rows} tokens, the target's has {target.n_vocab}"


class _MedusaLayout(Layout):
    @property
    def steps(self) -> int:
        return self._count("{}.0.linear.weight")

    def _blocks(self, step: int) -> int:
        return self._count(f"{step}.{{}}.linear.weight")

    def _output(self, step: int) -> str:
        return self._tied(f"{{}}.{self._blocks(step)}.weight", step)

    def _wrong_tensors(self, target: GgufHeader) -> Iterator[str]:
        width = target.width
        for step in range(self.steps):
            blocks = self._blocks(step)
            yield f"a head has {blocks} blocks, at most {_MOST_BLOCKS} can be run" if blocks > _MOST_BLOCKS else ""
            for block in range(blocks):
                yield self._wrong(f"{step}.{block}.linear.weight", width, width)
                yield self._wrong(f"{step}.{block}.linear.bias", width)
            yield self._wrong_output(self._output(step), width, target)

    def read(self, weights: _Weights) -> Medusa:
        def read(name: str, most: int | None = None) -> NDArray[Any]:
            return weights.read(self._tensors[name], most)

        def blocks(step: int) -> list[ResidualBlock]:
            names = (f"{step}.{block}.linear" for block in range(self._blocks(step)))
            return [ResidualBlock(read(f"{name}.weight"), read(f"{name}.bias")) for name in names]

        steps = range(self.steps)
        outputs = [read(self._output(step), _MOST_OUTPUTS) for step in steps]
        return Medusa(outputs[0].shape[1], [blocks(step) for step in steps], outputs)


class _SpeculatorLayout(Layout):
    @property
    def steps(self) -> int:
        return self._head.of_model("n_predict") or self._count("speculator.proj.{}.weight")

    def _name(self, part: str, step: int, kind: str = "weight") -> str:
        return self._tied(f"speculator.{part}.{{}}.{kind}", step)

    def _wrong_tensors(self, target: GgufHeader) -> Iterator[str]:
        bias = self._tensors.get("speculator.ln.0.bias")
        inner = bias.elements if bias else 0
        for step in range(self.steps):
            yield self._wrong(self._name("ln", step, "bias"), inner)
            yield self._wrong(self._name("ln", step), inner)
            yield self._wrong(self._name("proj", step), inner if step else target.width, inner)
            yield self._wrong(self._name("emb", step), inner, target.n_vocab)
            yield self._wrong_output(self._name("head", step), inner, target)

    def read(self, weights: _Weights) -> MlpSpeculator:
        def tensor(part: str, step: int, kind: str = "weight") -> TensorInfo:
            return self._tensors[self._name(part, step, kind)]

        def stage(step: int) -> Stage:
            norm = weights.read(tensor("ln", step)), weights.read(tensor("ln", step, "bias"))
            return Stage(weights.read(tensor("emb", step), stored=True), weights.read(tensor("proj", step)), *norm)

        steps = range(self.steps)
        outputs = [weights.read(tensor("head", step), _MOST_OUTPUTS) for step in steps]
        scales_input = self._head.flag("mlp.scale_input") or False
        return MlpSpeculator([stage(step) for step in steps], outputs, scales_input=scales_input)


LAYOUTS: Final[Mapping[str, type[Layout]]] = {"medusa": _MedusaLayout, "mlp": _SpeculatorLayout}
