"""Files with Medusa heads or an MLPSpeculator, in the safetensors layouts that their authors publish.

Medusa: `{head}.{block}.linear.weight`, `{head}.{block}.linear.bias`, and `{head}.{number of blocks}.weight` for the
output. MLPSpeculator: `speculator.{emb,proj,ln,head}.{step}.weight` and `speculator.ln.{step}.bias`. A matrix that is
missing is that of the step before, since tied ones are written once.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from math import inf, prod
from pathlib import Path
from typing import Any, Final

import ml_dtypes  # noqa: F401  numpy knows bfloat16 once it is imported
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from specchat_engine.drafters.state_heads import Block, Medusa, MlpSpeculator, Stage, StateHead
from specchat_engine.errors import PairError
from specchat_engine.gguf import Header
from specchat_engine.load_options import NORMED, Head

SUFFIX: Final = ".safetensors"

_MOST_OUTPUTS = 8192
"""Ids that a head can predict. Tokenizers number their tokens roughly by frequency, and each row costs time."""

_MOST_STEPS, _MOST_BLOCKS = 16, 8
_TYPES: Final = {"F32": 4, "F16": 2, "BF16": 2}
"""Bytes of a number."""


def state_head(target: Header, path: Path) -> Head:
    """The head of a file. Raises PairError if it is none, or made for another target."""
    with _opened(path) as file:
        name = next((name for name, layout in _LAYOUTS.items() if layout.mark in file.names), "")
        if not name:
            raise file.misfit("it has neither Medusa heads nor an MLPSpeculator")
        layout = _LAYOUTS[name](file, target)
        layout.check()
        return Head(name, (NORMED,), str(path), layout.steps)


def read_state_head(head: Head, target: Header, free: int = 0) -> StateHead:
    """Reads the weights of a head that `state_head` has checked.

    Raises PairError if they take more bytes than are `free`, where 0 means that this is not known.
    """
    with _opened(Path(head.path), free or inf) as file:
        return _LAYOUTS[head.name](file, target).read()


class _File:
    """An open file: its tensors are read on demand, each once, and only as many rows as needed."""

    def __init__(self, path: Path, tensors: Any, free: float) -> None:
        self.path = path
        self.names = frozenset(tensors.keys())
        self._tensors = tensors
        self._free = self._left = free
        self._read: dict[str, NDArray[Any]] = {}

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """What the file says about itself, and the config.json beside it."""
        beside, found = self.path.with_name("config.json"), {}
        if beside.is_file():
            try:
                found = dict(json.loads(beside.read_text("utf-8")))
            except (OSError, ValueError, TypeError) as error:
                raise PairError(f"{beside} cannot be read: {error}; get the file again") from None
        return found | (self._tensors.metadata() or {})

    def count(self, pattern: str) -> int:
        """How many tensors there are of this name with 0, 1, 2, … in it."""
        return next(place for place in count() if pattern.format(place) not in self.names)

    def tied(self, pattern: str, step: int) -> str:
        """The tensor of a step, or the one of an earlier step that it shares."""
        names = (pattern.format(place) for place in range(step, -1, -1))
        return next((name for name in names if name in self.names), pattern.format(step))

    def require(self, name: str, *shape: int) -> None:
        """Raises PairError unless there is such a tensor of floats. In the shape, 0 stands for any number."""
        if name not in self.names:
            raise self.misfit(f"it has no {name}")
        entry = self._tensors.get_slice(name)
        found = tuple(entry.get_shape())
        if len(found) != len(shape) or any(want not in (0, have) for want, have in zip(shape, found, strict=True)):
            raise self.misfit(f"its {name} has the shape {found}, not {shape}")
        if entry.get_dtype() not in _TYPES:
            raise self.misfit(f"its {name} is {entry.get_dtype()}, only {', '.join(_TYPES)} can be read")

    def rows(self, name: str) -> int:
        """The first size of a tensor."""
        size: int = self._tensors.get_slice(name).get_shape()[0]
        return size

    def read(self, name: str, most: int | None = None, dtype: Any = np.float32) -> NDArray[Any]:
        """A tensor, or its first rows; without a type as it is stored."""
        if name not in self._read:
            entry = self._tensors.get_slice(name)
            rows, *others = entry.get_shape()
            rows = min(rows, most or rows)
            self._left -= rows * prod(others) * (4 if dtype else _TYPES[entry.get_dtype()])
            if self._left < 0:
                raise PairError(
                    f"{self.path.name} takes more memory than the {self._free / 1e9:.1f} GB that are free: use another "
                    "head, or lookup"
                )
            self._read[name] = np.ascontiguousarray(entry[:rows], dtype)
        return self._read[name]

    def misfit(self, reason: str) -> PairError:
        """The error for a file that cannot draft for the target."""
        return PairError(
            f"{self.path.name} is no head for this target: {reason}; use a head that was made for it, or lookup"
        )


@contextmanager
def _opened(path: Path, free: float = inf) -> Iterator[_File]:
    try:
        with safe_open(path, "numpy") as tensors:
            yield _File(path, tensors, free)
    except (OSError, SafetensorError) as error:
        raise PairError(f"{path} cannot be read: {error}; get the file again") from None


class _Layout(ABC):
    """How a kind of head is laid out in a file."""

    mark: str
    """A tensor that only this kind has."""

    def __init__(self, file: _File, target: Header) -> None:
        self._file = file
        self._target = target

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many tokens it predicts in a row."""

    @abstractmethod
    def check(self) -> None:
        """Raises PairError for tensors that do not fit each other or the target."""

    @abstractmethod
    def read(self) -> StateHead:
        """Reads the weights."""

    def _check_steps(self) -> None:
        if not 0 < self.steps <= _MOST_STEPS:
            raise self._file.misfit(f"it predicts {self.steps} tokens, 1 to {_MOST_STEPS} can be run")

    def _check_output(self, name: str, inner: int) -> None:
        self._file.require(name, 0, inner)
        if not 0 < self._file.rows(name) <= self._target.n_vocab:
            tokens = f"{self._file.rows(name)} tokens, the target's has {self._target.n_vocab}"
            raise self._file.misfit(f"its vocabulary has {tokens}")


class _Medusa(_Layout):
    mark = "0.0.linear.weight"

    @property
    def steps(self) -> int:
        return self._file.count("{}.0.linear.weight")

    def _blocks(self, step: int) -> int:
        return self._file.count(f"{step}.{{}}.linear.weight")

    def _output(self, step: int) -> str:
        return self._file.tied(f"{{}}.{self._blocks(step)}.weight", step)

    def check(self) -> None:
        self._check_steps()
        width = self._target.width
        for step in range(self.steps):
            if self._blocks(step) > _MOST_BLOCKS:
                raise self._file.misfit(f"a head has {self._blocks(step)} blocks, at most {_MOST_BLOCKS} can be run")
            for block in range(self._blocks(step)):
                self._file.require(f"{step}.{block}.linear.weight", width, width)
                self._file.require(f"{step}.{block}.linear.bias", width)
            self._check_output(self._output(step), width)

    def read(self) -> Medusa:
        read, steps = self._file.read, range(self.steps)

        def blocks(step: int) -> list[Block]:
            names = (f"{step}.{block}.linear" for block in range(self._blocks(step)))
            return [Block(read(f"{name}.weight"), read(f"{name}.bias")) for name in names]

        outputs = [read(self._output(step), _MOST_OUTPUTS) for step in steps]
        return Medusa(self._target.width, [blocks(step) for step in steps], outputs)


class _Speculator(_Layout):
    mark = "speculator.proj.0.weight"

    @property
    def steps(self) -> int:
        found = str(self._file.facts.get("n_predict", self._file.count("speculator.proj.{}.weight")))
        return int(found) if found.isdecimal() and len(found) < 4 else 0

    def _name(self, part: str, step: int, kind: str = "weight") -> str:
        return self._file.tied(f"speculator.{part}.{{}}.{kind}", step)

    def check(self) -> None:
        self._check_steps()
        file, width = self._file, self._target.width
        file.require(self.mark, 0, width)
        inner = file.rows(self.mark)
        for step in range(self.steps):
            file.require(self._name("emb", step), self._target.n_vocab, inner)
            file.require(self._name("proj", step), inner, inner if step else width)
            file.require(self._name("ln", step), inner)
            file.require(self._name("ln", step, "bias"), inner)
            self._check_output(self._name("head", step), inner)

    def read(self) -> MlpSpeculator:
        read, name, steps = self._file.read, self._name, range(self.steps)

        def stage(step: int) -> Stage:
            projection = read(name("proj", step))
            norm = read(name("ln", step)), read(name("ln", step, "bias"))
            return Stage(read(name("emb", step), dtype=None), projection, *norm)

        outputs = [read(name("head", step), _MOST_OUTPUTS) for step in steps]
        scales_input = str(self._file.facts.get("scale_input")).lower() == "true"
        return MlpSpeculator(self._target.width, [stage(step) for step in steps], outputs, scales_input=scales_input)


_LAYOUTS: Final[Mapping[str, type[_Layout]]] = {"medusa": _Medusa, "mlp": _Speculator}
